//! Events of a stream that a server sends over HTTP. By hand, because what a server may have us hold has to have a limit.

/// One event.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) data: Vec<u8>,
    pub(super) id: Option<String>,
    /// Milliseconds to wait before the stream is asked for again.
    pub(super) retry: Option<u64>,
}

/// What has come of an event that is not complete.
pub(super) struct SseReader {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    max: usize,
}

/// An event is longer than may be.
#[derive(Debug)]
pub(super) struct TooLong;

impl SseReader {
    pub(super) fn new(max: usize) -> Self {
        SseReader {
            line: Vec::new(),
            event: Event::default(),
            has_data: false,
            max,
        }
    }

    /// Takes a piece of the stream, and gives the events that it completes.
    pub(super) fn take(&mut self, piece: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        let mut lines = piece.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = lines.next() {
            self.line.extend_from_slice(part);
            if self.line.len() + self.event.data.len() > self.max {
                return Err(TooLong);
            }
            // The last part goes on in the next piece.
            if lines.peek().is_none() {
                break;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.is_empty() {
                let event = std::mem::take(&mut self.event);
                self.has_data = false;
                if event != Event::default() {
                    events.push(event);
                }
            } else {
                self.field(line);
            }
        }
        Ok(events)
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = match colon {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || std::str::from_utf8(value).ok();
        match name {
            b"data" => {
                if self.has_data {
                    self.event.data.push(b'\n');
                }
                self.has_data = true;
                self.event.data.extend_from_slice(value);
            }
            b"id" => self.event.id = text().map(ToOwned::to_owned),
            b"retry" => self.event.retry = text().and_then(|it| it.parse().ok()),
            // A comment, the kind of an event, or something newer.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_however_they_are_cut() {
        let stream = "id: 1\nretry: 5\ndata:\n\n: alive\n\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nid: 2\ndata: x\n\ndata: unfinished";
        for size in [1, 3, 7, 1000] {
            let mut reader = SseReader::new(1000);
            let pieces = stream.as_bytes().chunks(size);
            let events: Vec<Event> = pieces.flat_map(|it| reader.take(it).unwrap()).collect();
            let shown: Vec<_> = events
                .iter()
                .map(|it| (String::from_utf8_lossy(&it.data), it.id.as_deref()))
                .collect();
            let expected = [
                ("".into(), Some("1")),
                ("{\"a\":\n1}".into(), None),
                ("x".into(), Some("2")),
            ];
            assert_eq!(shown, expected, "{size}");
            assert_eq!(events[0].retry, Some(5));
        }
    }

    #[test]
    fn an_event_without_end_is_not_held() {
        let mut reader = SseReader::new(1000);
        let mut taken = 0;
        while reader.take(b"data: 0123456789\n").is_ok() {
            taken += 1;
        }
        assert!(taken < 200);
    }
}
