"""Files that were valid once: one to four changes of the bytes. Seeded; the same draw gives the same file."""
import re
import struct

HUGE = [0, 1, 0x7F, 0x80, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
WORDS = [b"99999999999", b"-1", b"1e308", b"1e999", b"nan", b"-inf", b"0", b"18446744073709551615", b"0.5", b'""', b"null", b"[]", b"{}",
         b"\xff\xfe", b"\x00", b"\xc3\x28", b"9" * 400]
MASK = (1 << 64) - 1


def place(data, draw):
    """Half of the changes fall into the header."""
    return draw.randrange(max(1, len(data) if draw.random() < 0.5 else min(len(data), 600)))


def flip(data, draw):
    at = place(data, draw)
    return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1:]


def byte(data, draw):
    at = place(data, draw)
    return data[:at] + bytes([draw.choice([0, 0x7F, 0x80, 0xFF, draw.randrange(256)])]) + data[at + 1:]


def truncate(data, draw):
    return data[:place(data, draw)]


def insert(data, draw):
    at = place(data, draw)
    return data[:at] + draw.choice([draw.randbytes(draw.randrange(1, 40)), b"\0" * draw.randrange(1, 5000), draw.choice(WORDS)]) + data[at:]


def cut(data, draw):
    at = place(data, draw)
    return data[:at] + data[at + draw.randrange(1, 60):]


def length(data, draw):
    """A number of four or eight bytes as formats have it for lengths, at an even place."""
    at = place(data, draw) & ~3
    number = struct.pack(draw.choice(["<Q", ">Q"]), draw.choice(HUGE))
    size = draw.choice([4, 8])
    return data[:at] + number[:size] + data[at + size:]


def number(data, draw):
    """A number in text becomes another, or no number."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?(e-?\d+)?", data[:100000]))
    if not found:
        return length(data, draw)
    hit = draw.choice(found)
    return data[:hit.start()] + draw.choice(WORDS) + data[hit.end():]


def swap(data, draw):
    size = draw.randrange(1, max(2, len(data) // 4))
    a, b = sorted((place(data, draw), place(data, draw)))
    b = max(b, a + size)
    return data[:a] + data[b:b + size] + data[a + size:b] + data[a:a + size] + data[b + size:]


def double(data, draw):
    at = place(data, draw)
    return data[:at] + data[at:at + draw.randrange(1, 4000)] * draw.choice([2, 3, 50]) + data[at:]


def nest(data, draw):
    at = place(data, draw)
    return data[:at] + draw.choice([b"[", b"{", b"a.", b'{"a":', b"[{a="]) * draw.choice([100, 100000]) + data[at:]


KINDS = [flip, flip, byte, truncate, insert, cut, length, length, number, number, swap, double, nest]


def mutated(data, draw):
    for _ in range(draw.randint(1, 4)):
        if data:
            data = draw.choice(KINDS)(data, draw)
    return data


# Seals: a checksum that is right again lets the change through to what reads behind it.


def journal_sum(body):
    value = 0xCBF29CE484222325
    for c in body:
        value = (value ^ c) * 0x100000001B3 & MASK
    return b"%016x" % value


def sealed_journal(data):
    """Lines of a sweep's journal: 16 digits, a blank, JSON."""
    lines = data.split(b"\n")
    return b"\n".join(journal_sum(line[17:]) + b" " + line[17:] if len(line) > 18 else line for line in lines)


def mix(value, word):
    value = (value ^ word) * 0x100000001B3 & MASK
    return value ^ (value >> 32)


def sealed_checkpoint(data):
    """Magic, content, and eight bytes of checksum over the content."""
    start = data.find(b"\n") + 1
    magic, content = data[:start], data[start:-8]
    whole = len(content) // 8
    value = 0xCBF29CE484222325
    for word in struct.unpack(f"<{whole}Q", content[:8 * whole]):
        value = mix(value, word)
    value = mix(value, int.from_bytes(content[8 * whole:], "little"))
    return magic + content + struct.pack("<Q", mix(value, len(content)))
