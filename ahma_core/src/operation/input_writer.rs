//! The standard input of a running operation, for whoever wants to write to it.

use std::io;

use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::Mutex;

/// The end of a pipe that an operation's command reads from. One writes at a time; what each writes stays together.
#[derive(Debug)]
pub struct InputWriter(Mutex<Option<pipe::Sender>>);

impl InputWriter {
    /// Writes to this pipe.
    pub fn new(pipe: pipe::Sender) -> Self {
        InputWriter(Mutex::new(Some(pipe)))
    }

    /// Writes all of it; how much was written is counted as it goes, because a command may stop reading.
    pub async fn write(&self, bytes: &[u8], written: &mut usize) -> io::Result<()> {
        let mut pipe = self.0.lock().await;
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        let pipe = pipe.as_mut().ok_or_else(closed)?;
        while *written < bytes.len() {
            *written += pipe.write(&bytes[*written..]).await?;
        }
        Ok(())
    }

    /// Ends the input.
    pub async fn close(&self) {
        *self.0.lock().await = None;
    }
}
