"""A child that behaves badly: naughty.py ACT [NUMBER [MARK]].

MARK only stands in its command line, so that a test can find what is left of it.
"""

import os
import signal
import sys
import time

act = sys.argv[1]
number = int(sys.argv[2]) if len(sys.argv) > 2 else 0


def write(data):
    while data:
        data = data[os.write(1, data):]


def write_much(block, total):
    while total > 0:
        write(block[:total])
        total -= len(block)


def linger():
    while True:
        time.sleep(100)


def daemonize(closing):
    """A grandchild in a session of its own; its parents end at once."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            if closing:
                for fd in range(3):
                    os.close(fd)
            linger()
        os._exit(0)
    os.wait()


if act == "ignore-signals":
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    print("up", flush=True)
    linger()
elif act == "read-input":
    print("read", len(sys.stdin.buffer.read()), flush=True)
elif act == "hold-the-pipe":
    daemonize(closing=False)
    print("main ends", flush=True)
elif act == "daemons":
    for _ in range(number):
        daemonize(closing=True)
    print("main ends", flush=True)
elif act == "stop-itself":
    print("up", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
elif act == "flood":
    write_much(b"0123456789abcde\n" * 65536, number)
elif act == "one-line":
    write_much(b"x" * 1048576, number)
    write(b"\n")
elif act == "short-lines":
    write_much(b"\n" * 1048576, number)
elif act == "drip":
    for index in range(number):
        write("ä"[:1].encode()[:1])
        time.sleep(0.001)
        write("ä".encode()[1:])
elif act == "rubbish":
    write_much(bytes(range(256)) * 4096, number)
elif act == "write-and-crash":
    write(b"before\n")
    os.abort()
elif act == "close-output":
    os.close(1)
    os.close(2)
    time.sleep(0.05)
    sys.exit(7)
elif act == "eat-memory":
    eaten = []
    while True:
        eaten.append(bytearray(16 << 20))
elif act == "fork-bomb":
    while True:
        try:
            os.fork()
        except OSError:
            linger()
elif act == "orphan-storm":
    # Orphans that stay, and orphans that end as soon as they are made.
    for _ in range(number):
        if os.fork() == 0:
            if os.fork() == 0:
                linger()
            os._exit(0)
        os.wait()
    for _ in range(3):
        os.fork()
    while True:
        if os.fork() == 0:
            if os.fork() == 0:
                os._exit(0)
            os._exit(0)
        os.wait()
elif act == "many-threads":
    import threading

    for _ in range(number):
        threading.Thread(target=linger).start()
else:
    sys.exit("no such act")
