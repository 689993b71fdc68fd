//! Resources whose changes a client wants to hear of: files that are written, texts that their files say otherwise, outputs that grow.
//! Must not tell of anything that cannot be read as a resource.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::select_all;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::project_file::is_below;
use super::resources::{Body, body};
use crate::file_watch::WatchedDirectory;
use crate::light_watch::LightWatch;
use crate::operation::OperationHandle;
use crate::service::context::ServiceContext;
use crate::service::output_uri;

/// Resources that one client can subscribe to.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 100;
/// Changes within this time are told together: a file is often written in several steps.
const QUIET: Duration = Duration::from_millis(100);
/// A file that was written so long before somebody subscribed to it is told of too: times of files are coarse, and a client may write as
/// soon as its subscription is answered, which is before anybody looks.
const MARGIN: Duration = Duration::from_millis(100);
/// Outputs that grow are told of so often.
const OUTPUT_PAUSE: Duration = Duration::from_secs(1);

/// What a client has subscribed to.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(LightWatch<Wanted>);

#[derive(Debug, Default)]
struct Wanted {
    /// With the times at which they were subscribed to.
    uris: BTreeMap<String, SystemTime>,
    /// Counts the changes.
    version: u64,
}

impl Subscriptions {
    /// To these, for good.
    pub(crate) fn to(uris: impl IntoIterator<Item = String>) -> Self {
        let now = SystemTime::now();
        let uris = uris.into_iter().take(MAX_SUBSCRIPTIONS);
        let uris = uris.map(|uri| (uri, now)).collect();
        Subscriptions(LightWatch::new(Wanted { uris, version: 0 }))
    }

    /// Adds one.
    pub(crate) fn add(&self, uri: String) -> Result<(), String> {
        let mut is_full = false;
        self.0.change(|wanted| {
            let is_new = !wanted.uris.contains_key(&uri);
            is_full = is_new && wanted.uris.len() >= MAX_SUBSCRIPTIONS;
            if is_new && !is_full {
                wanted.uris.insert(uri, SystemTime::now());
                wanted.version += 1;
            }
            is_new && !is_full
        });
        match is_full {
            true => Err(format!(
                "a client can subscribe to {MAX_SUBSCRIPTIONS} resources at the same time; unsubscribe from one first"
            )),
            false => Ok(()),
        }
    }

    /// Takes one out; whether it was there.
    pub(crate) fn remove(&self, uri: &str) -> bool {
        self.0.change(|wanted| {
            let was_there = wanted.uris.remove(uri).is_some();
            wanted.version += u64::from(was_there);
            was_there
        })
    }

    fn now(&self) -> (BTreeMap<String, SystemTime>, u64) {
        self.0.read(|wanted| (wanted.uris.clone(), wanted.version))
    }

    async fn changed(&self, seen: u64) {
        let later = |wanted: &Wanted| (wanted.version != seen).then_some(());
        self.0.wait(later).await;
    }
}

/// What a resource was when it was looked at last.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    /// There is none.
    Nothing,
    /// A text.
    Text(String),
    /// A file: where, and what the system says of it.
    File(PathBuf, Option<Identity>),
    /// The output of an operation, and how long it was.
    Output(u64),
}

impl Seen {
    /// Whether it is a file that has changed since then, as far as its times tell.
    fn has_changed_since(&self, time: SystemTime) -> bool {
        let Seen::File(_, Some((.., (seconds, nanoseconds)))) = self else {
            return false;
        };
        let changed = Duration::new(
            u64::try_from(*seconds).unwrap_or(0),
            u32::try_from(*nanoseconds).unwrap_or(0),
        );
        UNIX_EPOCH + changed + MARGIN >= time
    }
}

/// Device, number, size, and when it was written and changed, in nanoseconds.
type Identity = (u64, u64, u64, (i64, i64), (i64, i64));

/// Tells of each change of what a client wants to hear of, until telling fails.
pub(crate) async fn watch<F: Future<Output = bool>>(
    context: Arc<ServiceContext>,
    subscriptions: Arc<Subscriptions>,
    tell: impl Fn(String) -> F,
) {
    let mut declared = context.registry.content();
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    let mut watched = Vec::new();
    loop {
        declared.mark_unchanged();
        let count = context.files.count();
        let (uris, version) = subscriptions.now();
        let (now, directories) = look(&context, uris.keys().cloned().collect()).await;
        // Not before: what is watched again stays watched.
        drop(std::mem::replace(&mut watched, directories));
        for (uri, state) in &now {
            // Who has just subscribed knows what it was then.
            let has_changed = match (seen.get(uri), uris.get(uri)) {
                (Some(before), _) => before != state,
                (None, Some(since)) => state.has_changed_since(*since),
                (None, None) => false,
            };
            if has_changed && !tell(uri.clone()).await {
                return;
            }
        }
        seen = now;
        tokio::select! {
            () = subscriptions.changed(version) => {}
            changed = declared.changed() => if changed.is_err() { return },
            _ = context.files.changed(count) => sleep(QUIET).await,
            () = grown(&context, &seen) => sleep(OUTPUT_PAUSE).await,
        }
    }
}

/// Looks at all of them, and watches the directories of files from before the look on.
async fn look(
    context: &Arc<ServiceContext>,
    uris: BTreeSet<String>,
) -> (BTreeMap<String, Seen>, Vec<WatchedDirectory>) {
    let content = Arc::clone(&context.registry.content().borrow());
    let scope = context.hosts.policy().scope.clone();
    let files = Arc::clone(&context.files);
    let outputs: BTreeMap<String, u64> = uris
        .iter()
        .filter_map(|uri| {
            Some((
                uri.clone(),
                operation(context, uri)?.output().totals().bytes,
            ))
        })
        .collect();
    let looking = move || {
        let (mut seen, mut watched) = (BTreeMap::new(), Vec::new());
        for uri in uris {
            let found = content
                .resource(&uri)
                .map(|(spec, values)| body(spec, &values));
            let state = match (found, outputs.get(&uri)) {
                (_, Some(length)) => Seen::Output(*length),
                (Some(Body::Text(text)), None) => Seen::Text(text),
                (Some(Body::File(path)), None) if is_below(&path) => {
                    let below = PathBuf::from(path);
                    let directory = scope.join(&below);
                    watched.extend(directory.parent().and_then(|it| files.watch(it).ok()));
                    let identity = identity(&scope, &below);
                    Seen::File(below, identity)
                }
                _ => Seen::Nothing,
            };
            seen.insert(uri, state);
        }
        (seen, watched)
    };
    spawn_blocking(looking).await.unwrap_or_default()
}

fn operation(context: &ServiceContext, uri: &str) -> Option<Arc<OperationHandle>> {
    let part = output_uri::part(uri)?;
    context.operations().get(&part.id)
}

/// What the system says of a file below the scope; none where no file is that could be read as a resource.
fn identity(scope: &Path, below: &Path) -> Option<Identity> {
    let scope = ahma_sandbox::open_directory(scope).ok()?;
    let file = std::fs::File::from(ahma_sandbox::open_beneath(scope, below).ok()?);
    let about = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let (written, changed) = (
        (about.mtime(), about.mtime_nsec()),
        (about.ctime(), about.ctime_nsec()),
    );
    Some((about.dev(), about.ino(), about.size(), written, changed))
}

/// Waits until one of the outputs is longer than it was; for ever where there is none.
async fn grown(context: &ServiceContext, seen: &BTreeMap<String, Seen>) {
    let growing = seen.iter().filter_map(|(uri, state)| match state {
        Seen::Output(length) => Some((operation(context, uri)?, *length)),
        _ => None,
    });
    let waiting: Vec<_> = growing
        .map(|(operation, length)| {
            Box::pin(async move {
                // An output that has ended does not grow.
                if operation.output().grown(length).await <= length {
                    std::future::pending::<()>().await;
                }
            })
        })
        .collect();
    match waiting.is_empty() {
        true => std::future::pending().await,
        false => drop(select_all(waiting).await),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_so_many_subscriptions() {
        let all = Subscriptions::default();
        for number in 0..MAX_SUBSCRIPTIONS {
            all.add(format!("a:{number}")).unwrap();
        }
        assert!(all.add("a:0".to_owned()).is_ok(), "it has that one already");
        assert!(all.add("a:more".to_owned()).is_err());
        assert!(all.remove("a:0"));
        assert!(!all.remove("a:0"));
        all.add("a:more".to_owned()).unwrap();
    }

    /// Proves: P34.
    #[test]
    fn a_file_that_is_written_before_anybody_has_looked_has_changed() {
        let file = |seconds| {
            let times = ((1, 0), (seconds, 999_000_000));
            Seen::File(PathBuf::from("f"), Some((1, 2, 3, times.0, times.1)))
        };
        let subscribed = UNIX_EPOCH + Duration::from_secs(100);
        assert!(!file(98).has_changed_since(subscribed));
        assert!(file(99).has_changed_since(subscribed), "times are coarse");
        assert!(file(100).has_changed_since(subscribed));
        assert!(!Seen::Nothing.has_changed_since(subscribed));
    }
}
