"""A server of the Python SDK, 2.x, on stdin and stdout, with long results.

The SDK converts the results of functions: a model becomes indented JSON and structured
content with an output schema, and a list becomes one text block per item.
"""

import base64
import random

from mcp.server.mcpserver import Audio, Image, MCPServer
from pydantic import BaseModel

ORDERS = 12_000

server = MCPServer("long")


class Order(BaseModel):
    id: int
    ship: str
    note: str
    paid: bool


class Orders(BaseModel):
    total: int
    orders: list[Order]


@server.tool()
def order_book() -> Orders:
    """Returns all orders in one object, like a response of an API."""
    return Orders(total=ORDERS, orders=orders(ORDERS))


@server.tool()
def order_list() -> list[Order]:
    """Returns the orders as a list."""
    return orders(ORDERS)


@server.tool(structured_output=False)
def screenshot(lines: int) -> list[Image | Audio | str]:
    """Returns a picture and a sound of 300 kB in base64 each, and the given number of text lines."""
    text = "\n".join(f"{line}: what the picture shows, Σκύλλα" for line in range(1, lines + 1))
    return [Image(data=noise(1), format="png"), text, Audio(data=noise(2), format="wav")]


@server.tool(structured_output=False)
def screenshot_data() -> str:
    """Returns the first and last characters of both in base64, to check that they arrive complete."""
    ends = [base64.b64encode(noise(seed)).decode() for seed in (1, 2)]
    return " ".join(f"{len(data)}:{data[:30]}:{data[-30:]}" for data in ends)


def orders(count):
    notes = ("through the strait of Messina", "past Σκύλλα und Charybdis", "home")
    return [Order(id=at, ship=f"Argo {at % 17}", note=notes[at % 3], paid=at % 2 == 0) for at in range(1, count + 1)]


def noise(seed):
    return random.Random(seed).randbytes(225_000)


if __name__ == "__main__":
    server.run()
