//! Sockets that listen, as the kernel's tables of TCP show them. Must not read the tables itself.

/// The state of a socket that listens.
const LISTENING: &str = "0A";

/// The address of the socket of a line of such a table, if it listens on this port.
pub(crate) fn listening_address(line: &str, port: u16) -> Option<&str> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (local, _remote, state) = (fields.next()?, fields.next()?, fields.next()?);
    let (address, own) = local.rsplit_once(':')?;
    let is_it = state == LISTENING && u16::from_str_radix(own, 16) == Ok(port);
    is_it.then_some(address)
}
