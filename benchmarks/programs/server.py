"""FastAPI under uvicorn, with 300 requests by httpx in the same process."""

import asyncio
from typing import Annotated

import httpx
import uvicorn
from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel

REQUESTS = 300

app = FastAPI()
items: dict[int, "Item"] = {}


class Item(BaseModel):
    """Item of a shop."""

    name: str
    price: float
    tags: list[str] = []


def page_size(size: int = 50) -> int:
    """Return the number of items of a page."""
    return min(size, 100)


@app.post("/items/{number}")
async def post_item(number: int, item: Item) -> Item:
    """Store an item."""
    items[number] = item
    return item


@app.get("/items/{number}")
async def get_item(number: int) -> Item:
    """Return an item."""
    if number not in items:
        raise HTTPException(404, "no such item")
    return items[number]


@app.get("/search")
def search(word: str, size: Annotated[int, Depends(page_size)]) -> list[Item]:
    """Return the items whose name contains a word; runs in a thread."""
    return [item for item in items.values() if word in item.name][:size]


async def send(client: httpx.AsyncClient, number: int) -> httpx.Response:
    """Send a request of one of three kinds; return the response."""
    if number % 3 == 0:
        body = {"name": f"item {number}", "price": number / 4, "tags": ["a", "b"]}
        return await client.post(f"/items/{number}", json=body)
    if number % 3 == 1:
        return await client.get(f"/items/{number - 1}")
    return await client.get("/search", params={"word": str(number % 10)})


async def main() -> None:
    """Start the server, send the requests, stop the server."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - the server has no event to wait for
        await asyncio.sleep(0.01)
    _, port = server.servers[0].sockets[0].getsockname()
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        for number in range(REQUESTS):
            (await send(client, number)).raise_for_status()
    server.should_exit = True
    await serving


asyncio.run(main())
print(len(items), "items")
