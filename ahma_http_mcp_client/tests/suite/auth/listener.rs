//! A port of this machine that keeps what it is asked, and answers as it is told to.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// What was asked.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) method: String,
    /// With its query.
    pub(super) target: String,
    pub(super) headers: HashMap<String, String>,
    pub(super) body: String,
}

impl Asked {
    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    /// A parameter of the query, or of a form.
    pub(super) fn param(&self, name: &str) -> Option<String> {
        let query = match self.method.as_str() {
            "GET" => self.target.split_once('?').map_or("", |it| it.1),
            _ => &self.body,
        };
        let url = reqwest::Url::parse(&format!("http://x/?{query}")).unwrap();
        let mut pairs = url.query_pairs();
        pairs
            .find(|(key, _)| key == name)
            .map(|it| it.1.into_owned())
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// All of it, to be searched.
    pub(super) fn whole(&self) -> String {
        format!("{self:?}")
    }
}

/// What is answered.
pub(super) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    is_never: bool,
}

impl Answer {
    pub(super) fn new(status: u16) -> Self {
        Answer {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            is_never: false,
        }
    }

    pub(super) fn json(value: &serde_json::Value) -> Self {
        Answer::new(200)
            .with("content-type", "application/json")
            .body(value.to_string())
    }

    pub(super) fn redirect(status: u16, location: impl Into<String>) -> Self {
        Answer::new(status).with("location", location)
    }

    /// Never comes.
    pub(super) fn never() -> Self {
        let is_never = true;
        Answer {
            is_never,
            ..Answer::new(200)
        }
    }

    pub(super) fn status(self, status: u16) -> Self {
        Answer { status, ..self }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn body(self, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Answer { body, ..self }
    }
}

/// A port that listens.
pub(super) struct Listener {
    pub(super) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
    serving: tokio::task::AbortHandle,
}

impl Listener {
    /// A port of the machine's choice. What answers hears which one it is.
    pub(super) async fn start<A>(answering: impl FnOnce(SocketAddr) -> A) -> Self
    where
        A: Fn(&Asked) -> Answer + Send + Sync + 'static,
    {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        let answering = Arc::new(answering(address));
        let (asked, connections) = (Arc::<Mutex<Vec<Asked>>>::default(), Arc::default());
        let (all, count) = (Arc::clone(&asked), Arc::clone(&connections));
        let serving = tokio::spawn(async move {
            loop {
                let (stream, _) = tcp.accept().await.unwrap();
                AtomicUsize::fetch_add(&count, 1, Ordering::SeqCst);
                let (all, answering) = (Arc::clone(&all), Arc::clone(&answering));
                let service = service_fn(move |request: Request<Incoming>| {
                    let (all, answering) = (Arc::clone(&all), Arc::clone(&answering));
                    async move {
                        let asked = read(request).await;
                        all.lock().unwrap().push(asked.clone());
                        let answer = answering(&asked);
                        if answer.is_never {
                            std::future::pending::<()>().await;
                        }
                        Ok::<_, Infallible>(response(answer))
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Listener {
            address,
            asked,
            connections,
            serving: serving.abort_handle(),
        }
    }

    /// One that nobody should ever ask.
    pub(super) async fn nobody() -> Self {
        Listener::start(|_| |_: &Asked| Answer::new(500)).await
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// What was asked of one path.
    pub(super) fn asked_at(&self, path: &str) -> Vec<Asked> {
        let mut asked = self.asked();
        asked.retain(|it| it.path() == path);
        asked
    }

    /// How many have connected, whether they asked or not.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn read(request: Request<Incoming>) -> Asked {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| {
        let value = value.to_str().unwrap_or("?").to_owned();
        (name.as_str().to_owned(), value)
    });
    Asked {
        method: head.method.to_string(),
        target: head.uri.to_string(),
        headers: headers.collect(),
        body: String::from_utf8_lossy(&body).into_owned(),
    }
}

fn response(answer: Answer) -> Response<Full<Bytes>> {
    let mut response = Response::builder().status(answer.status);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    response.body(Full::new(Bytes::from(answer.body))).unwrap()
}
