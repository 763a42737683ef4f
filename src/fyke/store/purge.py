from msgspec import Struct
class Gone(Struct):
    objects: list[str] = []
    more: bool = False
async def purge(conn): return Gone()
async def expire(conn, a, b): return 0
