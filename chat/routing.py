websocket_urls: list = []
