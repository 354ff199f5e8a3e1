#!/usr/bin/env python3
"""Reads a filter of Tidemark, which holds the subjects that a viewer played in a month, and prints which ids are in it.

    read_filter.py FILE BUSINESS [ID ...]        ids as arguments, or from standard input, each ended by a newline

BUSINESS is the number of the business. The output has one line per id: the id, a tab, "seen" (probably) or "unseen" (certainly).
Exit status 1, and a sentence on standard error, if the file is damaged or of an unknown version, if BUSINESS is not a number
from 1 to 65535, or if an ID is not 1 to 64 bytes of UTF-8.

Written from the two descriptions of the format alone: subgraphs/feed-existence/filter/filter.ts and
subgraphs/feed-existence/filter/hash.ts. It needs only Python 3.
"""
import sys
import zlib

MASK = 0xFFFFFFFF


def finalizer(shift1, factor1, shift2, factor2, shift3):
    def mix(value):
        value = (value ^ (value >> shift1)) * factor1 & MASK
        value = (value ^ (value >> shift2)) * factor2 & MASK
        return value ^ (value >> shift3)

    return mix


LANES = [
    (0x7469646D, finalizer(16, 0x85EBCA6B, 13, 0xC2B2AE35, 16)),
    (0x61726B31, finalizer(16, 0x7FEB352D, 15, 0x846CA68B, 16)),
]


def is_integer(oid):
    return oid.isascii() and oid.isdigit() and str(int(oid)) == oid and int(oid) < 2**63


def hash64(business, oid):
    """The two hashes, the first above the second."""
    result = 0
    for salt, mix in LANES:
        seed = salt ^ (business * 0x9E3779B1 & MASK)
        if is_integer(oid):
            number = int(oid)
            lane = mix((number & MASK) ^ mix((number >> 32) ^ seed))
        else:
            text = oid.encode()
            packed = bytes([0x80 | len(text)]) + text
            packed += bytes(-len(packed) % 4)
            lane = seed ^ 0x80000000
            for at in range(0, len(packed), 4):
                word = int.from_bytes(packed[at : at + 4], "little")
                lane = mix(lane ^ word) + 0x9E3779B9 & MASK
        result = result << 32 | lane
    return result


class Reader:
    def __init__(self, data, at):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def take(self, length):
        self.at += length
        return self.data[self.at - length : self.at]


def golomb_values(code, count, k):
    bits = int.from_bytes(code, "big")
    text = bin(bits)[2:].zfill(len(code) * 8) if code else ""
    values, at, following = set(), 0, 0
    for _ in range(count):
        one = text.index("1", at)
        rest = int(text[one + 1 : one + 1 + k] or "0", 2)
        value = following + ((one - at) << k) + rest
        values.add(value)
        at, following = one + 1 + k, value + 1
    return values


def read_filter(data):
    """Returns (rate, records, [(width, values)])."""
    if len(data) < 6 or data[0] & 0xF0 != 0xF0:
        raise ValueError("this is no filter")
    if int.from_bytes(data[1:5], "big") != zlib.crc32(data[:1] + data[5:]):
        raise ValueError("the filter is damaged: its sum is not that of its bytes")
    if data[0] != 0xF1 or data[5] != 0x11:
        raise ValueError(f"format {data[0] & 15}, hash {data[5] >> 4} and kind {data[5] & 15} are not 1, 1 and 1, which this reader knows")
    reader = Reader(data, 6)
    rate = reader.varint() / 1e6
    records = reader.varint()
    sets = []
    while reader.at < len(data):
        width, k = reader.byte(), reader.byte()
        count = reader.varint()
        sets.append((width, golomb_values(reader.take(reader.varint()), count, k)))
    return rate, records, sets


def is_in(sets, business, oid):
    hashed = hash64(business, oid)
    return any(hashed >> (64 - width) in values for width, values in sets)


def business_of(text):
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise ValueError(f'"{text}" is no number of a business: give one from 1 to 65535')
    return int(text)


def ids_of(arguments):
    if arguments:
        return arguments
    lines = sys.stdin.buffer.read().decode(errors="surrogateescape").split("\n")
    return lines if lines[-1] else lines[:-1]


def check_id(oid):
    try:
        length = len(oid.encode())
    except UnicodeEncodeError:
        raise ValueError(f"the id {ascii(oid)} is not UTF-8") from None
    if not 1 <= length <= 64:
        raise ValueError(f'the id "{oid[:64]}" has {length} bytes: an id has 1 to 64')


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: read_filter.py FILE BUSINESS [ID ...]")
    try:
        with open(sys.argv[1], "rb") as file:
            data = file.read()
        business = business_of(sys.argv[2])
        _, _, sets = read_filter(data)
        oids = ids_of(sys.argv[3:])
        for oid in oids:
            check_id(oid)
    except OSError as error:
        sys.exit(f"{sys.argv[1]} cannot be read: {error.strerror}")
    except ValueError as error:
        sys.exit(str(error))
    lines = (f"{oid}\t{'seen' if is_in(sets, business, oid) else 'unseen'}\n" for oid in oids)
    sys.stdout.buffer.write("".join(lines).encode())


if __name__ == "__main__":
    main()
