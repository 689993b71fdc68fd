//! What a running command and its client have to say to each other: progress, messages, questions and their answers.
//!
//! Filled by the executor from the events that a command writes; read, and answered, by whoever speaks with the client. Must not
//! know how a client is reached.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::InputWriter;
use crate::light_watch::LightWatch;

/// Progress and messages that wait for a client that does not read; of more, the oldest are lost.
const MAX_WAITING: usize = 64;

/// Something that a client may be told while the command runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// How far it is.
    Progress {
        /// How much is done.
        progress: f64,
        /// Of how much.
        total: Option<f64>,
        /// In words.
        message: Option<String>,
    },
    /// A message for the client's log.
    Message {
        /// One of the protocol's levels.
        level: MessageLevel,
        /// Which part of the program says it.
        logger: Option<String>,
        /// What it says.
        data: Value,
    },
}

/// How much a message matters; the names are those of the protocol.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize, serde::Serialize,
)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words are those of RFC 5424")]
pub enum MessageLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// Questions of a command that belong together.
#[derive(Debug, PartialEq)]
pub struct Question {
    /// Counts the questions of a command from 1.
    pub number: u64,
    /// Method and parameters of each request to the client, by the command's own name for it.
    pub requests: Map<String, Value>,
    /// When it was asked.
    pub asked: Instant,
}

/// What a client cannot be asked for.
pub(crate) trait Untaken: Debug + Send + Sync {
    /// What stands in the place of the answer to a request that the client does not take.
    fn refusal(&self, request: &Value) -> Option<Value>;
}

/// An error that a command reports of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedError {
    /// In words.
    pub message: String,
    /// The code of an error of the protocol, where the call is to end as one.
    pub code: Option<i32>,
}

#[derive(Debug, Default)]
struct Stage {
    question: Option<Arc<Question>>,
    /// Answers to some of its requests.
    answers: Map<String, Value>,
    asked: u64,
    /// How long the command has waited for answers so far.
    waited: Duration,
    /// Counts changes of the question and its answers.
    version: u64,
    /// What it has said last of how far it is.
    progress: Option<String>,
    wants_background: bool,
    error: Option<ReportedError>,
    is_over: bool,
    untaken: Option<Box<dyn Untaken>>,
}

impl Stage {
    /// What stands in the place of answers that the client cannot give.
    fn refused(&self, requests: &Map<String, Value>) -> Map<String, Value> {
        let refusal = |request| self.untaken.as_ref()?.refusal(request);
        let refused = requests.iter();
        let refused = refused.filter_map(|(key, it)| Some((key.clone(), refusal(it)?)));
        refused.collect()
    }
}

/// What a running command and its client have to say to each other.
#[derive(Debug)]
pub struct Dialogue {
    stage: LightWatch<Stage>,
    told: broadcast::Sender<Arc<Told>>,
    input: InputWriter,
}

impl Dialogue {
    /// The command reads answers from this input.
    pub fn new(input: InputWriter) -> Self {
        Dialogue {
            stage: LightWatch::default(),
            told: broadcast::channel(MAX_WAITING).0,
            input,
        }
    }

    /// What a client may be told from now on.
    pub fn told(&self) -> broadcast::Receiver<Arc<Told>> {
        self.told.subscribe()
    }

    /// Tells whoever listens.
    pub(crate) fn tell(&self, told: Told) {
        if let Told::Progress {
            message: Some(message),
            ..
        } = &told
        {
            self.stage.change(|stage| {
                stage.progress = Some(message.clone());
                false
            });
        }
        let _ = self.told.send(Arc::new(told));
    }

    /// Puts a question; `false` while another one waits for its answer.
    pub(crate) fn ask(self: &Arc<Self>, requests: Map<String, Value>) -> bool {
        let mut all_refused = None;
        let is_asked = self.stage.change(|stage| {
            let is_free = stage.question.is_none() && !stage.is_over;
            if is_free {
                stage.asked += 1;
                stage.version += 1;
                // In the same moment, so that nobody sees a request open that cannot be answered.
                let refused = stage.refused(&requests);
                if !refused.is_empty() && refused.len() == requests.len() {
                    all_refused = Some(refused);
                    return true;
                }
                stage.answers = refused;
                stage.question = Some(Arc::new(Question {
                    number: stage.asked,
                    requests,
                    asked: Instant::now(),
                }));
            }
            is_free
        });
        if let Some(answers) = all_refused {
            self.hand_over(answers);
        }
        is_asked
    }

    /// Refuses from now on what the client cannot be asked for.
    pub(crate) fn refuse(self: &Arc<Self>, untaken: impl Untaken + 'static) {
        let mut open = None;
        self.stage.change(|stage| {
            stage.untaken = Some(Box::new(untaken));
            let question = stage.question.as_ref();
            open = question.map(|it| (it.number, stage.refused(&it.requests)));
            false
        });
        if let Some((number, refused)) = open {
            for (key, refusal) in refused {
                self.answer_part(number, &key, refusal);
            }
        }
    }

    /// The question that waits for an answer.
    pub fn question(&self) -> Option<Arc<Question>> {
        self.stage.read(|stage| stage.question.clone())
    }

    /// The number of the question that waits for an answer, and those of its requests that have none yet.
    pub fn unanswered(&self) -> Option<(u64, Map<String, Value>)> {
        self.stage.read(|stage| {
            let question = stage.question.as_ref()?;
            let open = question.requests.iter();
            let open = open.filter(|(key, _)| !stage.answers.contains_key(*key));
            let open = open.map(|(key, request)| (key.clone(), request.clone()));
            Some((question.number, open.collect()))
        })
    }

    /// What the command has said last of how far it is.
    pub fn progress(&self) -> Option<String> {
        self.stage.read(|stage| stage.progress.clone())
    }

    /// Counts what changes of the question and its answers.
    pub(crate) fn version(&self) -> u64 {
        self.stage.read(|stage| stage.version)
    }

    /// Waits until that is another one.
    pub(crate) async fn changed(&self, version: u64) {
        let other = |stage: &Stage| (stage.version != version).then_some(());
        self.stage.wait(other).await;
    }

    /// Waits for a question.
    pub async fn asked(&self) -> Arc<Question> {
        self.stage.wait(|stage| stage.question.clone()).await
    }

    /// Waits until no question waits for an answer; how long the command has waited for answers in all.
    pub async fn answered(&self) -> Duration {
        let found = |stage: &Stage| stage.question.is_none().then_some(stage.waited);
        self.stage.wait(found).await
    }

    /// How long the command has waited for answers so far.
    pub fn waited(&self) -> Duration {
        self.stage.read(|stage| stage.waited)
    }

    /// Whether the command waits for an answer, or has waited for longer than that in all.
    pub(crate) fn has_waited(&self, so_far: Duration) -> bool {
        let has_waited = |stage: &Stage| stage.question.is_some() || stage.waited > so_far;
        self.stage.read(has_waited)
    }

    /// Gives the command the answers to a question, by its names for them; `false` when it waits for none, or for another one.
    /// Does not wait until the command reads them.
    pub fn answer(self: &Arc<Self>, number: u64, answers: Map<String, Value>) -> bool {
        let is_waited_for = self.stage.change(|stage| {
            let question = stage.question.take_if(|it| it.number == number);
            if let Some(question) = &question {
                stage.version += 1;
                stage.waited += question.asked.elapsed();
            }
            question.is_some()
        });
        if is_waited_for {
            self.hand_over(answers);
        }
        is_waited_for
    }

    /// Writes answers, without waiting until the command reads them.
    fn hand_over(self: &Arc<Self>, answers: Map<String, Value>) {
        let dialogue = Arc::clone(self);
        tokio::spawn(async move {
            // A command that does not read has ended, or will be stopped; writing fails then.
            let _ = dialogue.say(&json!({ "answers": answers })).await;
        });
    }

    /// Takes the answer to one request of a question; the command is given the answers when there is one to each.
    pub fn answer_part(self: &Arc<Self>, number: u64, key: &str, answer: Value) {
        let mut all = None;
        self.stage.change(|stage| {
            let question = stage.question.as_ref().filter(|it| it.number == number);
            if let Some(question) = question.filter(|it| it.requests.contains_key(key)) {
                stage.answers.insert(key.to_owned(), answer);
                stage.version += 1;
                if stage.answers.len() == question.requests.len() {
                    all = Some(std::mem::take(&mut stage.answers));
                }
                return true;
            }
            false
        });
        if let Some(all) = all {
            self.answer(number, all);
        }
    }

    /// Gives the command the same error for each request of a question.
    pub fn give_up(self: &Arc<Self>, number: u64, why: &str) -> bool {
        let question = self.question().filter(|it| it.number == number);
        let Some(question) = question else {
            return false;
        };
        let keys = question.requests.keys().cloned();
        let answers = keys.map(|key| (key, json!({ "error": why })));
        self.answer(number, answers.collect())
    }

    /// Says a line to the command.
    pub(crate) async fn say(&self, line: &Value) -> io::Result<()> {
        let line = format!("{line}\n");
        self.input.write(line.as_bytes(), &mut 0).await
    }

    /// Notes that the command wants to go on in the background.
    pub(crate) fn goes_to_the_background(&self) {
        self.stage.change(|stage| {
            stage.wants_background = true;
            true
        });
    }

    /// Whether the command wants to go on in the background.
    pub fn is_in_background(&self) -> bool {
        self.stage.read(|stage| stage.wants_background)
    }

    /// Waits until the command wants to go on in the background.
    pub async fn wants_background(&self) {
        let found = |stage: &Stage| stage.wants_background.then_some(());
        self.stage.wait(found).await;
    }

    /// Notes an error; the first one counts.
    pub(crate) fn fail(&self, error: ReportedError) {
        self.stage.change(|stage| {
            let is_first = stage.error.is_none();
            if is_first {
                stage.error = Some(error);
            }
            is_first
        });
    }

    /// The error that the command has reported.
    pub fn error(&self) -> Option<ReportedError> {
        self.stage.read(|stage| stage.error.clone())
    }

    /// Notes that the command has ended: nobody waits for an answer, and none can be given.
    pub(crate) async fn end(&self) {
        self.stage.change(|stage| {
            stage.question = None;
            stage.is_over = true;
            true
        });
        self.input.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct TakesForms;

    impl Untaken for TakesForms {
        fn refusal(&self, request: &Value) -> Option<Value> {
            (request != "form").then(|| json!("refused"))
        }
    }

    /// Proves: T60.
    #[tokio::test]
    async fn what_a_client_is_not_asked_for_is_never_open() {
        let (_pipe, writing) = ahma_sandbox::InputPipe::new().unwrap();
        let dialogue = Arc::new(Dialogue::new(InputWriter::new(writing)));
        let open = || {
            let (number, open) = dialogue.unanswered()?;
            Some((number, open.keys().cloned().collect::<Vec<_>>()))
        };
        let asked = |requests: Value| dialogue.ask(requests.as_object().unwrap().clone());
        // What was asked before anybody said so.
        assert!(asked(json!({ "a": "form", "b": "roots" })));
        assert_eq!(open(), Some((1, vec!["a".to_owned(), "b".to_owned()])));
        dialogue.refuse(TakesForms);
        assert_eq!(open(), Some((1, vec!["a".to_owned()])));
        dialogue.answer_part(1, "a", json!("said"));
        assert_eq!(open(), None);
        // And what is asked from then on.
        assert!(asked(json!({ "c": "roots", "d": "form" })));
        assert_eq!(open(), Some((2, vec!["d".to_owned()])));
        dialogue.answer_part(2, "d", json!("said"));
        assert!(asked(json!({ "e": "roots" })));
        assert_eq!(open(), None);
    }
}
