//! A loopback of their own: commands of one scope without a network talk to each other, and to nobody else.

use std::net::TcpListener;
use std::path::Path;

use ahma_sandbox::{
    Launch, Layer, Network, NetworkReach, PrewarmSpec, PrivateDir, RunningCommand, SandboxHost,
    SandboxPolicy,
};
use tokio::io::AsyncReadExt as _;

use crate::support::{Bench, finish, patiently, read_line};

/// Says where it listens, and then hello to whoever connects.
const SERVER: &str = "import socket\n\
    s = socket.create_server((ADDRESS, 0), family=FAMILY)\n\
    print(s.getsockname()[1], flush=True)\n\
    while True:\n    s.accept()[0].sendall(b'hello')\n";

/// A server that runs, and its port.
struct Server {
    port: String,
    command: RunningCommand,
}

impl Server {
    async fn start(bench: &Bench, host: &SandboxHost, address: &str) -> Self {
        let script = SERVER
            .replace("ADDRESS", &format!("'{address}'"))
            .replace("FAMILY", family(address));
        let request = bench.request(&["/usr/bin/python3", "-c", &script]);
        let mut command = patiently(host.spawn(request)).await.unwrap();
        let port = read_line(&mut command.take_output().unwrap()).await;
        Server { port, command }
    }

    async fn end(mut self) {
        self.command.kill();
        patiently(self.command.gone()).await;
    }
}

fn family(address: &str) -> &'static str {
    match address.contains(':') {
        true => "socket.AF_INET6",
        false => "socket.AF_INET",
    }
}

/// What a command of a host hears from a server there.
async fn heard(bench: &Bench, host: &SandboxHost, address: &str, port: &str) -> String {
    let script = format!(
        "import socket\ntry:\n    print(socket.create_connection(('{address}', {port}), 20).recv(9).decode())\n\
         except OSError as e:\n    print(type(e).__name__)"
    );
    let request = bench.request(&["/usr/bin/python3", "-c", &script]);
    finish(patiently(host.spawn(request)).await.unwrap())
        .await
        .output
}

async fn they_talk(bench: &Bench) {
    for address in ["127.0.0.1", "::1"] {
        let server = Server::start(bench, &bench.host, address).await;
        let answer = heard(bench, &bench.host, address, &server.port).await;
        assert_eq!(answer, "hello\n", "{address}: {:?}", bench.policy);
        server.end().await;
    }
}

/// Proves: S72.
#[tokio::test]
async fn two_commands_of_one_scope_talk_with_a_network_and_without() {
    they_talk(&Bench::new().await).await;
    they_talk(&Bench::without_network().await).await;
    let forking = |policy: &mut SandboxPolicy| {
        policy.network = Network::Off;
        policy.launch = Launch::Fork;
    };
    they_talk(&Bench::with(forking).await).await;
}

/// Proves: S72.
#[tokio::test]
async fn every_host_of_a_scope_without_a_network_has_the_same_loopback() {
    let bench = Bench::without_network().await;
    let server = Server::start(&bench, &bench.host, "127.0.0.1").await;
    let read_only = |policy: &mut SandboxPolicy| policy.read_only = true;
    let (one, two) = tokio::join!(bench.another_policy(read_only), bench.another_host());
    for host in [&one, &two] {
        let answer = heard(&bench, host, "127.0.0.1", &server.port).await;
        assert_eq!(answer, "hello\n");
        assert_eq!(host.report().layers, bench.host.report().layers);
    }
    // A tool that gives up its network is beside one that does not.
    let with_network = bench.another_policy(|it| it.network = Network::On).await;
    let answer = heard(&bench, &with_network, "127.0.0.1", &server.port).await;
    assert_eq!(answer, "ConnectionRefusedError\n");
    server.end().await;
    // It is there as long as any of them is, and made anew after the last one.
    bench.host.end().await;
    let server = Server::start(&bench, &one, "127.0.0.1").await;
    let answer = heard(&bench, &two, "127.0.0.1", &server.port).await;
    assert_eq!(answer, "hello\n");
    server.end().await;
    for host in [one, two] {
        host.end().await;
    }
    let later = bench.another_host().await;
    let server = Server::start(&bench, &later, "127.0.0.1").await;
    let answer = heard(&bench, &later, "127.0.0.1", &server.port).await;
    assert_eq!(answer, "hello\n");
}

/// Proves: S72.
#[tokio::test]
async fn hosts_that_start_at_the_same_time_share_it() {
    let bench = Bench::with(|_| {}).await;
    let off = |policy: &mut SandboxPolicy| policy.network = Network::Off;
    let (one, two) = tokio::join!(bench.another_policy(off), bench.another_policy(off));
    let server = Server::start(&bench, &one, "127.0.0.1").await;
    let answer = heard(&bench, &two, "127.0.0.1", &server.port).await;
    assert_eq!(answer, "hello\n");
}

/// Proves: S24, S72.
#[tokio::test]
async fn the_loopback_of_another_scope_and_that_of_the_machine_cannot_be_reached() {
    let (bench, other) = (
        Bench::without_network().await,
        Bench::without_network().await,
    );
    let server = Server::start(&bench, &bench.host, "127.0.0.1").await;
    let answer = heard(&bench, &bench.host, "127.0.0.1", &server.port).await;
    assert_eq!(answer, "hello\n");
    let answer = heard(&other, &other.host, "127.0.0.1", &server.port).await;
    assert_eq!(answer, "ConnectionRefusedError\n");
    let from_outside = std::net::TcpStream::connect(format!("127.0.0.1:{}", server.port));
    assert!(from_outside.is_err(), "{from_outside:?}");
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port().to_string();
    let answer = heard(&bench, &bench.host, "127.0.0.1", &port).await;
    assert_eq!(answer, "ConnectionRefusedError\n");
    outside.set_nonblocking(true).unwrap();
    assert!(outside.accept().is_err(), "somebody came");
}

/// Proves: S49, S72.
#[tokio::test]
async fn a_host_that_waited_for_its_policy_shares_it_too() {
    let bench = Bench::new().await;
    let own = PrivateDir::create(bench.scope.parent().unwrap()).unwrap();
    bench.sandbox().prestart(PrewarmSpec {
        network: Network::Off,
        private_dir: own.path().to_owned(),
    });
    let off = |policy: &mut SandboxPolicy| policy.network = Network::Off;
    let (one, two) = (
        bench.another_policy(off).await,
        bench.another_policy(off).await,
    );
    let server = Server::start(&bench, &one, "127.0.0.1").await;
    let answer = heard(&bench, &two, "127.0.0.1", &server.port).await;
    assert_eq!(answer, "hello\n");
}

/// Proves: S23, S72.
#[tokio::test]
async fn without_namespaces_there_is_no_loopback_and_the_report_says_so() {
    let bench = Bench::with(|policy| {
        policy.network = Network::Off;
        policy.without = vec![Layer::Namespaces];
    })
    .await;
    let socket =
        "import socket\ntry:\n    socket.socket()\nexcept PermissionError:\n    print('refused')";
    assert_eq!(bench.python(socket).await.output, "refused\n");
    assert_eq!(bench.host.report().network, NetworkReach::Nothing);
    let unconfined = Bench::with(|policy| {
        policy.network = Network::Off;
        policy.without = vec![Layer::Landlock, Layer::Namespaces, Layer::Seccomp];
    });
    let others = [
        Bench::without_network().await,
        Bench::new().await,
        unconfined.await,
    ];
    let reach = others.map(|bench| bench.host.report().network);
    let [machine, loopback] = [NetworkReach::Machine, NetworkReach::Loopback];
    assert_eq!(reach, [loopback, machine, machine]);
}

/// Proves: S72.
#[tokio::test]
async fn what_is_left_of_it_ends_with_its_hosts() {
    let bench = Bench::without_network().await;
    let number = network_of(&bench).await;
    let other = bench.another_host().await;
    assert_eq!(held_descriptors(&number).len(), 1, "it is known once");
    other.end().await;
    bench.host.end().await;
    drop((other, bench));
    let held = held_descriptors(&number);
    assert_eq!(
        held,
        Vec::<String>::new(),
        "the server still holds {number}"
    );
}

/// The number of the network that commands are in.
async fn network_of(bench: &Bench) -> String {
    let request = bench.request(&["readlink", "/proc/self/ns/net"]);
    let mut command = patiently(bench.host.spawn(request)).await.unwrap();
    let mut number = String::new();
    let mut output = command.take_output().unwrap();
    patiently(output.read_to_string(&mut number)).await.unwrap();
    number.trim().to_owned()
}

/// Which descriptors of this process lead to it.
fn held_descriptors(number: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let held = links.filter(|link| link == Path::new(number));
    held.map(|link| link.display().to_string()).collect()
}
