//! The network: that of the machine, or none that leads out. Only loopback is ever addressed.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;

use crate::support::Bench;

/// A Python program that prints what became of the attempt.
fn attempt(code: &str) -> String {
    format!(
        "import socket\ntry:\n    {code}\n    print('reached')\nexcept OSError as e:\n    print('refused')"
    )
}

#[tokio::test]
async fn loopback_is_reached_with_network_and_not_without() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = attempt(&format!(
        "socket.create_connection(('127.0.0.1', {port}), 5)"
    ));
    let with = Bench::new().await;
    assert_eq!(with.python(&connect).await.output, "reached\n");
    let without = Bench::without_network().await;
    assert_eq!(without.python(&connect).await.output, "refused\n");
}

/// Proves: S24.
#[tokio::test]
async fn without_network_no_kind_of_socket_leads_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = listener.local_addr().unwrap().port();
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    let udp = datagrams.local_addr().unwrap().port();
    let bench = Bench::without_network().await;
    for (name, code) in [
        (
            "TCP",
            format!("socket.socket().connect(('127.0.0.1', {tcp}))"),
        ),
        (
            "TCP Fast Open",
            format!("socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', {tcp}))"),
        ),
        (
            "MPTCP",
            format!("socket.socket(2, 1, 262).connect(('127.0.0.1', {tcp}))"),
        ),
        (
            "UDP",
            format!(
                "s = socket.socket(2, 2); s.connect(('127.0.0.1', {udp})); s.send(b'x'); s.recv(1)"
            ),
        ),
        (
            "an address outside",
            "socket.socket(2, 2).connect(('192.0.2.1', 9))".to_owned(),
        ),
        ("vsock", "socket.socket(40, 1)".to_owned()),
        ("raw", "socket.socket(2, 3, 1)".to_owned()),
        ("packet", "socket.socket(17, 3)".to_owned()),
    ] {
        assert_eq!(
            bench.python(&attempt(&code)).await.output,
            "refused\n",
            "{name}"
        );
    }
    datagrams.set_nonblocking(true).unwrap();
    assert!(datagrams.recv(&mut [0; 8]).is_err(), "a datagram arrived");
    let interfaces = "import socket; print([name for _, name in socket.if_nameindex()])";
    assert_eq!(bench.python(interfaces).await.output, "['lo']\n");
    let local = attempt("socket.socketpair()");
    assert_eq!(
        bench.python(&local).await.output,
        "reached\n",
        "programs may talk to themselves"
    );
}

/// Proves: S25.
#[tokio::test]
async fn sockets_in_the_file_system_outside_cannot_be_reached() {
    let bench = Bench::new().await;
    let path = bench.outside.join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let connect = attempt(&format!("socket.socket(1).connect('{}')", path.display()));
    assert_eq!(bench.python(&connect).await.output, "refused\n");
    let control = bench.unconfined(&format!(
        "/usr/bin/python3 -c \"{}\"",
        connect.replace('"', "\\\"")
    ));
    assert_eq!(String::from_utf8_lossy(&control.stdout), "reached\n");
    let inside =
        attempt("s=socket.socket(1); s.bind('mine'); s.listen(); socket.socket(1).connect('mine')");
    assert_eq!(
        bench.python(&inside).await.output,
        "reached\n",
        "sockets in the scope work"
    );
}

/// Proves: S25.
#[tokio::test]
async fn abstract_sockets_of_the_machine_cannot_be_reached() {
    use std::os::linux::net::SocketAddrExt as _;
    let bench = Bench::new().await;
    let name = format!("ahma-test-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let connect = attempt(&format!("socket.socket(1).connect('\\0{name}')"));
    assert_eq!(bench.python(&connect).await.output, "refused\n");
}
