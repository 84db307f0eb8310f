"""The websocket of ana's conversation opens for ana, from the product's own pages, and for nobody else."""

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from studyplatform.study import seats, sessions
from studyplatform.study.models import Session
from tests.cast import Cast, logged_in, stage_cast
from tests.chat.conftest import Web, web  # noqa: F401  # a fixture

HERE = "http://127.0.0.1"


@pytest.fixture
def staged(transactional_db: None) -> Cast:
    return stage_cast("two", sessions="min_minutes = 0")


def cookies_of(client: Client) -> str:
    return "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())


def cookie(who: str, cast: Cast) -> str:
    people = {"ana": cast.ana, "ben": cast.ben, "eve": cast.eve, "noa": cast.noa}
    staff = {"rae": cast.rae, "lee": cast.lee, "max": cast.max, "sam": cast.sam}
    if who in people:
        return f"{seats.COOKIE}={seats.cookie_of(people[who])}"
    return cookies_of(logged_in(staff[who])) if who in staff else {"forged": f"seat={cast.ana.code}.1:x", "nobody": ""}[who]


async def opens(web: Web, cast: Cast, cookie: str, origin: str | None = HERE) -> bool:  # noqa: F811  # the fixture
    session = await Session.objects.aget(participant=cast.ana, position=1)
    await sync_to_async(sessions.begin)(session)
    address = f"ws://127.0.0.1:{web.port}/p/{cast.ana.code}/s/{session.code}/ws"
    try:
        async with connect(address, additional_headers={"Cookie": cookie}, origin=origin, open_timeout=20):
            return True
    except InvalidStatus:
        return False


async def test_it_opens_for_ana(web, staged):  # noqa: F811  # the fixture
    assert await opens(web, staged, await sync_to_async(cookie)("ana", staged))


@pytest.mark.parametrize("who", ["nobody", "forged", "ben", "eve", "noa", "rae", "lee", "max", "sam"])
async def test_it_stays_shut_for(who, web, staged):  # noqa: F811  # the fixture
    assert not await opens(web, staged, await sync_to_async(cookie)(who, staged))


@pytest.mark.parametrize("origin", ["https://elsewhere.example.org", "http://127.0.0.1.elsewhere.example.org"])
async def test_another_site_s_page_cannot_open_it_with_ana_s_cookie(origin, web, staged):  # noqa: F811  # the fixture
    assert not await opens(web, staged, await sync_to_async(cookie)("ana", staged), origin)


async def test_it_stays_shut_after_the_link_was_revoked(web, staged):  # noqa: F811  # the fixture
    before = await sync_to_async(cookie)("ana", staged)
    await type(staged.ana).objects.filter(pk=staged.ana.pk).aupdate(key_version=2)
    assert not await opens(web, staged, before)


async def test_a_session_of_somebody_else_is_not_found_under_ana_s_address(web, staged):  # noqa: F811  # the fixture
    other = await Session.objects.aget(participant=staged.ben, position=1)
    address = f"ws://127.0.0.1:{web.port}/p/{staged.ana.code}/s/{other.code}/ws"
    headers = {"Cookie": await sync_to_async(cookie)("ana", staged)}
    with pytest.raises(InvalidStatus):
        await connect(address, additional_headers=headers, origin=HERE)
