"""Every way out of the sandbox that we know, tried for real.

Usage: attack.py CONTEXT, a JSON file that may still have to be written. Each attack runs in a process
of its own and prints one line: its name and `REACHED` or `refused` with the reason. An attack that
works changes only what the context names, its own directory, or sets a value to what it is already. System calls are
given by their numbers on x86-64.

`control` says whether the same attack is tried without a sandbox, where it has to work: by anyone, by
root only, by anyone where `/etc` is a copy with secrets in it that were put there for this (root runs the tests), or by
nobody because success would do harm or is not to be had everywhere.
"""

import ctypes
import errno
import json
import os
import socket
import struct
import sys
import time

ANYONE, ROOT, PLANTED, NOBODY = "anyone", "root", "planted", "nobody"
ATTACKS = []
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p


def attack(control=ANYONE):
    def add(function):
        ATTACKS.append((function, control))
        return function

    return add


def call(number, *arguments):
    """A system call; raises what the kernel says."""
    arguments = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


# --- files ---------------------------------------------------------------------------------------


@attack()
def read_a_file(c):
    return open(c.secret).read() == "the secret\n"


@attack(ROOT)
def read_password_hashes(c):
    return "root:" in open("/etc/shadow").read()


@attack()
def list_a_directory(c):
    return "secret" in os.listdir(c.outside)


@attack()
def see_that_a_file_exists(c):
    return os.stat(c.secret).st_size == 11


@attack()
def ask_whether_a_file_is_accessible(c):
    return os.access(c.secret, os.F_OK)


@attack()
def read_where_a_link_points(c):
    return os.readlink(c.outside + "/link") == "nowhere"


@attack()
def read_an_attribute(c):
    return os.getxattr(c.secret, "user.ahma") == b"1"


@attack()
def enter_a_directory(c):
    os.chdir(c.outside)
    return True


@attack()
def watch_a_directory(c):
    watcher = call(294, 0)
    return call(254, watcher, c.outside.encode(), 0x100) >= 0


@attack()
def append_to_a_file(c):
    return open(c.spare, "a").write("x") == 1


@attack()
def overwrite_a_file(c):
    return open(c.spare, "r+").write("x") == 1


@attack()
def empty_a_file(c):
    os.truncate(c.spare, 0)
    return True


@attack()
def make_a_file(c):
    open(c.outside + "/made", "w").close()
    return True


@attack()
def make_a_directory(c):
    os.mkdir(c.outside + "/made-directory")
    return True


@attack()
def make_a_link(c):
    os.symlink("x", c.outside + "/made-link")
    return True


@attack()
def make_a_pipe(c):
    os.mkfifo(c.outside + "/made-pipe")
    return True


@attack()
def remove_a_file(c):
    os.unlink(c.outside + "/to-remove")
    return True


@attack()
def read_through_a_link(c):
    os.symlink(c.secret, "soft-read")
    return open("soft-read").read() == "the secret\n"


@attack()
def write_through_a_link(c):
    os.symlink(c.spare, "soft-write")
    return open("soft-write", "a").write("x") == 1


@attack()
def hard_link_a_file_into_the_scope(c):
    os.link(c.secret, "hard")
    return True


@attack()
def move_a_file_into_the_scope(c):
    os.rename(c.outside + "/to-move", "moved")
    return True


@attack()
def move_a_file_out_of_the_scope(c):
    open("mine", "w").close()
    os.rename("mine", c.outside + "/moved-out")
    return True


@attack()
def change_a_mode(c):
    os.chmod(c.spare, 0o640)
    return True


@attack()
def change_an_owner(c):
    os.chown(c.spare, os.getuid(), os.getgid())
    return True


@attack()
def change_times(c):
    os.utime(c.spare, (1, 1))
    return True


@attack()
def change_an_attribute(c):
    os.setxattr(c.spare, "user.ahma", b"2")
    return True


@attack()
def run_a_program_outside(c):
    return os.system(c.outside + "/program >/dev/null 2>&1") == 0


@attack(ROOT)
def open_a_file_by_its_handle(c):
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call(303, -100, c.secret.encode(), handle, ctypes.byref(mount), 0)
    directory = os.open(c.outside, os.O_RDONLY)
    return call(304, directory, handle, os.O_RDONLY) >= 0


@attack(ROOT)
def make_a_character_device(c):
    os.mknod("zero-device", 0o20600, os.makedev(1, 5))
    return True


@attack(ROOT)
def make_a_block_device(c):
    os.mknod("loop-device", 0o60600, os.makedev(7, 250))
    return True


@attack(NOBODY)
def read_memory_of_the_machine(c):
    return os.open("/dev/mem", os.O_RDONLY) >= 0


@attack(NOBODY)
def read_a_disk(c):
    disks = ["/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/xvda"]
    return any(os.path.exists(disk) and os.open(disk, os.O_RDONLY) >= 0 for disk in disks)


@attack(NOBODY)
def open_the_kernel_log_device(c):
    return os.open("/dev/kmsg", os.O_RDONLY) >= 0


@attack(NOBODY)
def change_the_mode_of_a_device(c):
    # To what it is already.
    os.chmod("/dev/full", os.stat("/dev/full").st_mode & 0o7777)
    return True


@attack(NOBODY)
def change_the_mode_of_a_kernel_file(c):
    os.chmod("/proc/version", os.stat("/proc/version").st_mode & 0o7777)
    return True


@attack(NOBODY)
def list_private_keys(c):
    return os.listdir("/etc/ssl/private") is not None


# --- secrets in /etc -----------------------------------------------------------------------------


def tells(path):
    return "the secret" in open("/etc/" + path).read()


@attack(PLANTED)
def read_a_copy_of_password_hashes(c):
    return tells("shadow.bak")


@attack(PLANTED)
def read_who_may_become_root(c):
    return tells("sudoers.d/planted")


@attack(PLANTED)
def read_old_passwords(c):
    return tells("security/opasswd")


@attack(PLANTED)
def read_a_host_key_of_ssh(c):
    return tells("ssh/ssh_host_planted_key")


@attack(PLANTED)
def read_a_private_key_of_tls(c):
    return tells("ssl/private/planted.pem")


@attack(PLANTED)
def read_a_certificate_with_its_key(c):
    return tells("letsencrypt/live/planted/fullchain.pem")


@attack(PLANTED)
def read_a_keytab(c):
    return tells("krb5.keytab")


@attack(PLANTED)
def read_the_password_of_a_wireless_network(c):
    return tells("NetworkManager/system-connections/planted")


@attack(PLANTED)
def read_the_password_of_another_wireless_network(c):
    return tells("wpa_supplicant/planted.conf")


@attack(PLANTED)
def read_a_tunnel_by_wireguard(c):
    return tells("wireguard/planted.conf")


@attack(PLANTED)
def read_a_tunnel_by_openvpn(c):
    return tells("openvpn/planted.conf")


@attack(PLANTED)
def read_a_password_of_a_provider(c):
    return tells("ppp/planted")


@attack(PLANTED)
def read_the_password_of_a_database(c):
    return tells("mysql/debian.cnf")


@attack(PLANTED)
def read_the_settings_of_docker(c):
    return tells("docker/daemon.json")


@attack(PLANTED)
def read_the_address_of_a_printer(c):
    return tells("cups/planted.conf")


@attack(PLANTED)
def read_the_password_of_a_mail_server(c):
    return tells("postfix/sasl_passwd")


@attack(PLANTED)
def read_the_password_of_a_package_server(c):
    return tells("apt/auth.conf.d/planted.conf")


@attack(PLANTED)
def read_passwords_of_all_servers(c):
    return tells("netrc")


@attack(PLANTED)
def read_the_password_of_a_disk(c):
    return tells("fstab")


@attack(PLANTED)
def read_what_runs_by_itself(c):
    return tells("cron.d/planted")


@attack(PLANTED)
def read_variables_of_all_programs(c):
    return tells("environment")


@attack(PLANTED)
def read_credentials_of_a_cloud(c):
    return tells("cloud/planted.cfg")


@attack(PLANTED)
def read_what_the_machine_is_known_by(c):
    return tells("machine-id")


@attack(PLANTED)
def read_a_repository_of_settings(c):
    return tells(".git/planted")


@attack(PLANTED)
def read_a_key_by_its_name(c):
    return tells("planted-app/api-key")


@attack(PLANTED)
def read_a_token_by_its_name(c):
    return tells("planted-app/deep/access_token.json")


@attack(PLANTED)
def read_a_file_that_is_hidden(c):
    return tells("planted-app/.env")


@attack(PLANTED)
def read_a_token_in_settings(c):
    return tells("plantedrc")


@attack(PLANTED)
def read_a_password_in_an_address(c):
    return tells("planted.conf")


@attack(PLANTED)
def read_a_file_that_not_everybody_may_read(c):
    return tells("planted-app/closed.conf")


@attack(PLANTED)
def read_in_a_directory_that_not_everybody_may_enter(c):
    return tells("planted-closed/settings")


@attack(PLANTED)
def read_through_a_link_in_etc(c):
    return tells("planted-link")


@attack(PLANTED)
def list_a_directory_that_not_everybody_may_read(c):
    return "settings" in os.listdir("/etc/planted-closed")


@attack(PLANTED)
def change_a_file_that_everybody_may_read(c):
    return open("/etc/planted-app/settings", "a").write("x") == 1


# --- programs that run with the operator's rights -------------------------------------------------


def is_set(name, bit=0o4000):
    return bool(os.lstat(name).st_mode & bit)


def empty(name):
    open(name, "w").close()
    return name


@attack()
def set_a_user_id_by_chmod(c):
    call(90, empty("by-chmod").encode(), 0o4755)
    return is_set("by-chmod")


@attack()
def set_a_group_id_by_chmod(c):
    call(90, empty("by-chmod-group").encode(), 0o2755)
    return is_set("by-chmod-group", 0o2000)


@attack()
def set_a_user_id_by_fchmod(c):
    with open("by-fchmod", "w") as file:
        call(91, file.fileno(), 0o4755)
    return is_set("by-fchmod")


@attack()
def set_a_user_id_by_fchmodat(c):
    call(268, -100, empty("by-fchmodat").encode(), 0o4755)
    return is_set("by-fchmodat")


@attack(NOBODY)
def set_a_user_id_by_fchmodat2(c):
    # Not known to kernels before 6.6.
    call(452, -100, empty("by-fchmodat2").encode(), 0o4755, 0)
    return is_set("by-fchmodat2")


@attack()
def make_a_set_user_id_file_by_open(c):
    call(2, b"by-open", os.O_CREAT | os.O_WRONLY, 0o4755)
    return is_set("by-open")


@attack()
def make_a_set_user_id_file_by_openat(c):
    call(257, -100, b"by-openat", os.O_CREAT | os.O_WRONLY, 0o4755)
    return is_set("by-openat")


@attack()
def make_a_set_group_id_file_by_openat(c):
    call(257, -100, b"by-openat-group", os.O_CREAT | os.O_WRONLY, 0o2755)
    return is_set("by-openat-group", 0o2000)


@attack()
def make_a_set_user_id_file_by_openat2(c):
    how = struct.pack("3Q", os.O_CREAT | os.O_WRONLY, 0o4755, 0)
    call(437, -100, b"by-openat2", how, len(how))
    return is_set("by-openat2")


@attack()
def make_a_set_user_id_file_by_creat(c):
    call(85, b"by-creat", 0o4755)
    return is_set("by-creat")


@attack()
def make_a_set_user_id_file_by_mknod(c):
    call(133, b"by-mknod", 0o104755, 0)
    return is_set("by-mknod")


@attack()
def make_a_set_user_id_file_by_mknodat(c):
    call(259, -100, b"by-mknodat", 0o104755, 0)
    return is_set("by-mknodat")


@attack()
def make_a_set_user_id_file_without_a_name(c):
    file = call(257, -100, b".", os.O_TMPFILE | os.O_WRONLY, 0o4755)
    return bool(os.fstat(file).st_mode & 0o4000)


# --- other processes -----------------------------------------------------------------------------


def first_reached(targets, act):
    """Whether the act works on any of the targets; the last refusal otherwise."""
    refusal = ProcessLookupError(errno.ESRCH, "no target")
    for target in targets:
        try:
            if act(target):
                return True
        except OSError as error:
            refusal = error
    raise refusal


@attack()
def signal_a_process(c):
    return first_reached(c.processes, lambda pid: os.kill(pid, 0) is None)


@attack()
def signal_a_thread(c):
    return first_reached(c.threads, lambda t: call(234, t[0], t[1], 0) == 0)


@attack()
def signal_through_a_descriptor(c):
    return first_reached(c.processes, lambda pid: call(424, call(434, pid, 0), 0, 0, 0) == 0)


@attack()
def trace_a_thread(c):
    def act(thread):
        if libc.ptrace(16, thread[1], 0, 0) < 0:
            raise OSError(ctypes.get_errno(), "ptrace")
        os.waitpid(thread[1], 0x40000000)
        libc.ptrace(17, thread[1], 0, 0)
        return True

    return first_reached(c.threads, act)


@attack()
def seize_a_thread(c):
    def act(thread):
        if libc.ptrace(0x4206, thread[1], 0, 0) < 0:
            raise OSError(ctypes.get_errno(), "ptrace")
        return True

    return first_reached(c.threads, act)


def exchange_memory(number, pid, address, local):
    """process_vm_readv or process_vm_writev of the ten bytes of the secret."""
    here = (ctypes.c_ulong * 2)(ctypes.addressof(local), 10)
    there = (ctypes.c_ulong * 2)(address, 10)
    return call(number, pid, here, 1, there, 1, 0)


@attack()
def read_memory_of_a_process(c):
    local = ctypes.create_string_buffer(16)
    exchange_memory(310, c.pid, c.address, local)
    return local.value == b"the secret"


@attack()
def write_memory_of_a_process(c):
    local = ctypes.create_string_buffer(b"the secret")
    return exchange_memory(311, c.pid, c.address, local) == 10


@attack()
def read_memory_through_proc(c):
    with open("/proc/%d/mem" % c.pid, "rb", buffering=0) as memory:
        memory.seek(c.address)
        return memory.read(10) == b"the secret"


@attack()
def take_a_descriptor_of_a_process(c):
    return call(438, call(434, c.pid, 0), c.fd, 0) >= 0


@attack()
def read_the_environment_of_a_process(c):
    def act(pid):
        return len(open("/proc/%d/environ" % pid, "rb").read()) > 0

    return first_reached(c.processes, act)


@attack()
def read_the_command_line_of_a_process(c):
    def act(pid):
        return b"victim.py" in open("/proc/%d/cmdline" % pid, "rb").read()

    return first_reached(c.processes, act)


@attack()
def read_the_memory_map_of_a_process(c):
    return first_reached(c.processes, lambda pid: "-" in open("/proc/%d/maps" % pid).readline())


@attack()
def list_the_descriptors_of_a_process(c):
    return first_reached(c.processes, lambda pid: len(os.listdir("/proc/%d/fd" % pid)) > 0)


@attack()
def go_through_the_root_of_a_process(c):
    path = "/proc/%d/root" + c.secret
    return first_reached(c.processes, lambda pid: "the" in open(path % pid).read())


@attack()
def go_through_the_directory_of_a_process(c):
    return "the" in open("/proc/%d/cwd/secret" % c.pid).read()


@attack()
def limit_a_process(c):
    limit = (ctypes.c_ulong * 2)()
    # Reads the limit and sets it to the same.
    def act(pid):
        call(302, pid, 7, 0, limit)
        return call(302, pid, 7, limit, 0) == 0

    return first_reached(c.processes, act)


@attack()
def change_the_priority_of_a_process(c):
    return first_reached(c.processes, lambda pid: call(141, 0, pid, os.getpriority(0, pid)) == 0)


@attack()
def change_the_scheduling_of_a_process(c):
    zero = ctypes.c_int(0)
    return first_reached(c.processes, lambda pid: call(144, pid, 0, ctypes.byref(zero)) == 0)


@attack()
def change_the_processors_of_a_process(c):
    def act(pid):
        os.sched_setaffinity(pid, os.sched_getaffinity(pid))
        return True

    return first_reached(c.processes, act)


@attack()
def change_the_disk_priority_of_a_process(c):
    return first_reached(c.processes, lambda pid: call(251, 1, pid, call(252, 1, pid)) == 0)


@attack(NOBODY)
def change_the_priority_of_all_processes_of_a_user(c):
    # To the highest that one of them has already.
    return call(141, 2, 0, os.getpriority(2, 0)) == 0


@attack()
def move_the_pages_of_a_process(c):
    mask = ctypes.c_ulong(1)
    pages = (c.pid, 64, ctypes.byref(mask), ctypes.byref(mask))
    return call(256, *pages) >= 0


@attack(NOBODY)
def make_a_process_the_first_to_be_killed(c):
    return first_reached(
        c.processes, lambda pid: os.open("/proc/%d/oom_score_adj" % pid, os.O_WRONLY) >= 0
    )


# --- shared memory, queues, keys -----------------------------------------------------------------


@attack()
def read_shared_memory(c):
    place = libc.shmat(libc.shmget(c.shm_key, 4096, 0), None, 0o10000)
    return ctypes.string_at(place, 10) == b"the secret" if place not in (None, 2**64 - 1) else False


@attack()
def read_a_shared_memory_file(c):
    return open(c.shm_file, "rb").read(10) == b"the secret"


@attack()
def open_a_message_queue(c):
    return call(240, c.queue.encode(), os.O_RDWR, 0, 0) >= 0


@attack()
def use_the_keyring(c):
    return call(250, 0, -3, 1) > 0


# --- privileges and the kernel -------------------------------------------------------------------


def status(field):
    lines = open("/proc/self/status").read().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(field + ":"))


@attack()
def gain_privileges_by_executing(c):
    return libc.prctl(39, 0, 0, 0, 0) == 0


@attack(ROOT)
def have_a_capability(c):
    return any(int(status(field), 16) for field in ("CapEff", "CapPrm", "CapInh", "CapAmb"))


@attack()
def have_a_capability_to_gain(c):
    return int(status("CapBnd"), 16) != 0


@attack(ROOT)
def become_another_user(c):
    os.setuid(12345)
    return True


@attack(NOBODY)
def become_root(c):
    if os.getuid() == 0:
        raise OSError(errno.EPERM, "is called root, without its capabilities")
    os.setuid(0)
    return True


@attack(NOBODY)
def mount_a_file_system(c):
    os.makedirs("mount-point", exist_ok=True)
    if libc.mount(b"none", b"mount-point", b"tmpfs", 0, None):
        raise OSError(ctypes.get_errno(), "mount")
    return True


@attack(NOBODY)
def bind_a_directory(c):
    os.makedirs("bind-point", exist_ok=True)
    if libc.mount(c.outside.encode(), b"bind-point", None, 4096, None):
        raise OSError(ctypes.get_errno(), "mount")
    return True


@attack(NOBODY)
def open_a_file_system(c):
    return call(430, b"tmpfs", 0) >= 0


@attack(NOBODY)
def clone_a_mount(c):
    return call(428, -100, b".", 1) >= 0


def unshare(flag):
    return call(272, flag) == 0


@attack(ROOT)
def make_a_user_namespace(c):
    return unshare(0x10000000)


@attack(ROOT)
def make_a_mount_namespace(c):
    return unshare(0x20000)


@attack(ROOT)
def make_a_network_namespace(c):
    return unshare(0x40000000)


@attack(ROOT)
def make_a_process_namespace(c):
    return unshare(0x20000000)


@attack(ROOT)
def clone_into_a_user_namespace(c):
    pid = call(56, 0x10000000 | 17, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


@attack(ROOT)
def clone3_into_a_user_namespace(c):
    arguments = struct.pack("8Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0)
    pid = call(435, arguments, len(arguments))
    if pid == 0:
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


@attack(ROOT)
def enter_namespaces_of_a_process(c):
    return first_reached(c.processes, lambda pid: call(308, call(434, pid, 0), 0x8000000) == 0)


@attack(ROOT)
def change_the_root_directory(c):
    os.chroot(".")
    return True


@attack(NOBODY)
def name_the_machine(c):
    # To what it is called already.
    socket.sethostname(socket.gethostname())
    return True


@attack(ROOT)
def set_where_crashes_go(c):
    return os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY) >= 0


@attack(ROOT)
def change_a_kernel_setting(c):
    return os.open("/proc/sys/vm/swappiness", os.O_WRONLY) >= 0


@attack(NOBODY)
def change_a_control_group(c):
    places = ["/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs"]
    return first_reached(places, lambda path: os.open(path, os.O_WRONLY) >= 0)


@attack(NOBODY)
def press_a_magic_key(c):
    return os.open("/proc/sysrq-trigger", os.O_WRONLY) >= 0


@attack(ROOT)
def read_the_kernel_log(c):
    return call(103, 10, 0, 0) >= 0


@attack(NOBODY)
def use_io_uring(c):
    return call(425, 1, bytes(120)) >= 0


@attack()
def use_kernel_aio(c):
    context = ctypes.c_ulong(0)
    return call(206, 1, ctypes.byref(context)) == 0


@attack()
def have_crashes_handled_outside(c):
    import resource

    # Only with a limit of 1 does the kernel start no program of the administrator's for them.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)


@attack(NOBODY)
def load_a_kernel_program(c):
    return call(321, 0, struct.pack("IIII", 2, 4, 4, 1) + bytes(112), 128) >= 0


@attack(NOBODY)
def measure_the_kernel(c):
    attributes = struct.pack("II", 1, 112) + bytes(104)
    return call(298, attributes, 0, -1, -1, 0) >= 0


@attack(NOBODY)
def handle_page_faults(c):
    return call(323, 0) >= 0


@attack(ROOT)
def type_into_a_terminal(c):
    import pty

    pid, terminal = pty.fork()
    if pid == 0:
        # In a terminal of its own: the letter would be the next thing typed there.
        refused = libc.ioctl(0, 0x5412, b"x") < 0
        os._exit(1 if refused else 0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@attack()
def change_a_line_discipline(c):
    import pty

    # To the one it has already.
    _, terminal = pty.openpty()
    if libc.ioctl(terminal, 0x5423, ctypes.byref(ctypes.c_int(0))) < 0:
        raise OSError(ctypes.get_errno(), "ioctl")
    return True


# --- sockets -------------------------------------------------------------------------------------


@attack()
def connect_to_a_socket_in_the_file_system(c):
    return socket.socket(socket.AF_UNIX).connect(c.outside + "/stream") is None


@attack()
def send_to_a_socket_in_the_file_system(c):
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    return sender.sendto(b"x", c.outside + "/datagrams") == 1


@attack()
def connect_to_an_abstract_socket(c):
    return socket.socket(socket.AF_UNIX).connect("\0" + c.abstract) is None


@attack()
def connect_by_tcp(c):
    return socket.create_connection(("127.0.0.1", c.tcp), 5) is not None


@attack(NOBODY)
def send_with_tcp_fast_open(c):
    return socket.socket().sendto(b"x", 0x20000000, ("127.0.0.1", c.tcp)) == 1


@attack(NOBODY)
def connect_by_multipath_tcp(c):
    return socket.socket(socket.AF_INET, 1, 262).connect(("127.0.0.1", c.tcp)) is None


@attack()
def send_by_udp(c):
    # Whether it arrives: a network of the attacker's own would take it too.
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.settimeout(5)
    sender.connect(("127.0.0.1", c.udp))
    sender.send(b"x")
    return sender.recv(1) == b"x"


@attack()
def ask_the_kernel_about_the_network(c):
    # About that of the victim: every network has a number.
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).bind((0, 0))
    return os.readlink("/proc/self/ns/net") == c.network


@attack(NOBODY)
def open_a_socket_to_the_hypervisor(c):
    return socket.socket(40, socket.SOCK_STREAM) is not None


@attack(ROOT)
def open_a_raw_socket(c):
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, 1) is not None


@attack(ROOT)
def open_a_packet_socket(c):
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW) is not None


@attack(NOBODY)
def make_a_pair_of_unusual_sockets(c):
    try:
        socket.socketpair(socket.AF_NETLINK, socket.SOCK_RAW)
    except OSError as error:
        # Anything but this means that the kernel looked for the family.
        return error.errno != errno.EPERM


def kernel_looks_for(family, kind, protocol):
    """Whether the kernel, asked for a socket that does not exist, looks for code to load."""
    try:
        socket.socket(family, kind, protocol)
    except OSError as error:
        return error.errno != errno.EPERM
    return True


@attack(NOBODY)
def use_an_unusual_protocol_of_the_internet(c):
    families = (socket.AF_INET, socket.AF_INET6)
    kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM)
    return any(kernel_looks_for(f, kind, 253) for f in families for kind in kinds)


@attack(NOBODY)
def use_an_unusual_kind_of_socket(c):
    families = (socket.AF_INET, socket.AF_INET6)
    kinds = (socket.SOCK_SEQPACKET, socket.SOCK_RDM, 6, 10)
    return any(kernel_looks_for(f, kind, 0) for f in families for kind in kinds)


@attack(NOBODY)
def ask_the_kernel_by_an_unusual_protocol(c):
    return kernel_looks_for(socket.AF_NETLINK, socket.SOCK_RAW, 31)


# --- running them --------------------------------------------------------------------------------


class Context:
    def __init__(self, path):
        while not os.path.exists(path):
            time.sleep(0.01)
        self.__dict__.update(json.load(open(path)))
        self.secret = self.outside + "/secret"
        self.spare = self.outside + "/spare"


def attempt(function, context):
    """Runs one attack in a process of its own and returns what became of it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(20)
        try:
            reached = "REACHED" if function(context) else "refused without an error"
        except (OSError, StopIteration) as error:
            reached = "refused: %s" % error
        os.write(writing, reached.replace("\n", " ").encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text or "refused: it was ended"


def main():
    context = Context(sys.argv[1])
    for function, control in ATTACKS:
        if context.control:
            able = control == ANYONE or control == ROOT and os.getuid() == 0
            able = able or control == PLANTED and context.planted
            if not able:
                continue
        print("%s: %s" % (function.__name__, attempt(function, context)), flush=True)


main()
