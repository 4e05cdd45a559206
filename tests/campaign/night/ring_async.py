"""A ring of ranks on asyncio: each listens for its left neighbour and connects to its right one."""
import asyncio
import os
import evidence

RANK, WORLD = int(os.environ["SLICEUP_RANK"]), int(os.environ["SLICEUP_WORLD"])
ADDRESSES = os.environ["SLICEUP_ADDRESSES"].split(",")
PORT = 29400


async def dial(address):
    for _ in range(200):
        try:
            return await asyncio.open_connection(address, PORT)
        except OSError:
            await asyncio.sleep(0.1)
    raise ConnectionError(f"no right neighbour at {address}")


async def ring():
    came = asyncio.get_running_loop().create_future()
    evidence.now()
    server = await asyncio.start_server(lambda *link: came.set_result(link), ADDRESSES[RANK], PORT)
    _, right = await dial(ADDRESSES[(RANK + 1) % WORLD])
    left, _ = await came
    token = b"%08d" % RANK
    for lap in range(4 * WORLD):
        right.write(token)
        await right.drain()
        token = await left.readexactly(8)
    print("the token came around, it is", token.decode())
    server.close()


asyncio.run(ring())
