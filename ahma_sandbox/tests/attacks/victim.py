"""What attacks are aimed at: a process with a secret, threads, sockets and shared memory.

Usage: victim.py DIRECTORY. Prints one line of JSON that tells an attacker where everything is, then
waits until its input ends.
"""

import ctypes
import json
import os
import socket
import sys
import threading

SECRET = b"the secret\0"
IPC_CREAT = 0o1000

directory = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
# Where Yama guards processes: anyone may look at this one, so that a refusal is the sandbox's.
libc.prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)

buffer = ctypes.create_string_buffer(SECRET)
for _ in range(3):
    threading.Thread(target=threading.Event().wait, daemon=True).start()

stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
stream.bind(directory + "/stream")
stream.listen()
datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
datagrams.bind(directory + "/datagrams")
name = "ahma-victim-%d" % os.getpid()
abstract = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
abstract.bind("\0" + name)
abstract.listen()
tcp = socket.socket()
tcp.bind(("127.0.0.1", 0))
tcp.listen()
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))


def answer_datagrams():
    while True:
        data, sender = udp.recvfrom(1)
        udp.sendto(data, sender)


threading.Thread(target=answer_datagrams, daemon=True).start()

libc.shmat.restype = ctypes.c_void_p
key = 0x41480000 | (os.getpid() & 0xFFFF)
segment = libc.shmget(key, 4096, IPC_CREAT | 0o600)
place = libc.shmat(segment, None, 0)
ctypes.memmove(place, SECRET, len(SECRET))
memory = "/dev/shm/" + name
with open(memory, "wb") as shared:
    shared.write(SECRET)
queue = ("/" + name).encode()
libc.syscall(240, queue[1:], os.O_CREAT | os.O_RDWR, 0o600, 0)

print(
    json.dumps(
        {
            "pid": os.getpid(),
            "tids": sorted(int(tid) for tid in os.listdir("/proc/self/task")),
            "address": ctypes.addressof(buffer),
            "fd": tcp.fileno(),
            "abstract": name,
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "shm_key": key,
            "shm_file": memory,
            "queue": name,
            "network": os.readlink("/proc/self/ns/net"),
        }
    ),
    flush=True,
)
sys.stdin.read()
libc.shmctl(segment, 0, None)
os.unlink(memory)
libc.syscall(241, queue[1:])
