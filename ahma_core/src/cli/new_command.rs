//! `ahma_mcp new`: a tool file drafted from a program's own help. Asks the program, confined; must not serve anybody, and must not
//! overwrite what it was not told to.

use std::collections::VecDeque;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;

use super::args::Args;
use super::new_args::NewArgs;
use super::offline::Offline;
use super::output::show;
use super::program_help::{Asker, NoHelp};
use super::startup_error::StartupError;
use crate::draft::{self, Branch, Draft};
use crate::scope::{Scope, ScopeConfig};

/// Subcommands that are drafted at most.
const MAX_SUBCOMMANDS: usize = 60;
/// How many are asked at the same time.
const AT_ONCE: usize = 4;
/// No further subcommand is asked after this.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often it is said what goes on.
const SAID_EVERY: Duration = Duration::from_secs(1);
/// What was left out is named up to this many times.
const MAX_NAMED: usize = 12;
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Drafts a file; the exit code.
pub(super) fn run(args: &Args, new: &NewArgs) -> ExitCode {
    match drafted(args, new) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

fn drafted(args: &Args, new: &NewArgs) -> Result<(), StartupError> {
    let offline = Offline::anywhere(args)?;
    let is_nowhere = offline.nowhere.is_some();
    let facts = crate::server_facts();
    let is_reserved = |name: &str| facts.reserved.iter().any(|it| it.name == name);
    let name = draft::tool_name(&new.program, &new.subcommand, is_reserved);
    let project = offline.settings.scope.directory.clone();
    let target = target(new, &name, (!is_nowhere).then_some(project.as_path()))?;
    if let Some(path) = target.as_deref().filter(|it| !new.force && it.exists()) {
        return Err(is_there(path));
    }
    let scope = offline.settings.scope;
    let asked = offline.runtime.block_on(ask(scope, &offline.shared, new));
    offline.runtime.shutdown_background();
    let root = asked?;
    let tool = draft::compose(name.clone(), &new.program, &new.subcommand, &root);
    let words = std::iter::once("new").chain([new.program.as_str()]);
    let words = words.chain(new.subcommand.iter().map(String::as_str));
    let words: Vec<&str> = words.collect();
    let draft = draft::checked(tool, &words.join(" "), &facts)
        .map_err(|why| StartupError::Other(format!("the draft is not accepted: {why}")))?;
    match &target {
        None => show(&draft.text)?,
        Some(path) => write(path, &draft.text, new.force)?,
    }
    tell(&draft, &name, target.as_deref());
    Ok(())
}

/// Where the file goes; none for stdout.
fn target(
    new: &NewArgs,
    name: &str,
    project: Option<&Path>,
) -> Result<Option<PathBuf>, StartupError> {
    if !new.add {
        return Ok(new.output.clone());
    }
    let project = project.ok_or_else(|| {
        usage("this directory is no project\nhint: go into one, name it with --sandbox-scope, or name a file with --output")
    })?;
    let directory = project.join(".ahma").join("tools");
    for path in [directory.as_path(), &project.join(".ahma")] {
        // A project could have it lead anywhere.
        if path.is_symlink() {
            return Err(usage(format!(
                "{} is a link, from which no tools are read\nhint: name a file with --output",
                path.display()
            )));
        }
    }
    Ok(Some(directory.join(format!("{name}.json"))))
}

fn usage(why: impl Into<String>) -> StartupError {
    StartupError::Usage(why.into())
}

fn is_there(path: &Path) -> StartupError {
    let path = path.display();
    usage(format!(
        "{path} is there already\nhint: --force overwrites it; --output names another file"
    ))
}

fn write(path: &Path, text: &str, is_forced: bool) -> Result<(), StartupError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => is_there(path),
        _ => StartupError::Other(format!("{} cannot be written: {error}", path.display())),
    };
    #[expect(clippy::disallowed_methods, reason = "nothing is served meanwhile")]
    if let Some(directory) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        fs::create_dir_all(directory).map_err(failed)?;
    }
    let mut options = OpenOptions::new();
    options.write(true);
    match is_forced {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

/// Opens the scope as a server would, and asks in it.
async fn ask(
    mut scope: ScopeConfig,
    shared: &std::sync::Arc<crate::scope::SharedResources>,
    new: &NewArgs,
) -> Result<Branch, StartupError> {
    scope.warm_shells = 0;
    let scope = Scope::prepare(scope, shared).await?;
    scope.ready().await?;
    let asker = Asker::new(scope.confined(), scope.directory().to_owned());
    let drafting = Drafting {
        asker: &asker,
        program: &new.program,
        begin: Instant::now(),
        now: Mutex::default(),
    };
    let root = drafting.root(&new.subcommand, new.depth);
    let asked = telling(&drafting.now, root).await;
    scope.shutdown("drafted", END_TIMEOUT).await;
    asked
}

struct Drafting<'a> {
    asker: &'a Asker,
    program: &'a str,
    begin: Instant,
    /// What it is doing.
    now: Mutex<String>,
}

impl Drafting<'_> {
    fn shown(&self, command: &[String]) -> String {
        let words = std::iter::once(self.program).chain(command.iter().map(String::as_str));
        words.collect::<Vec<_>>().join(" ")
    }

    fn say(&self, now: String) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    async fn root(&self, command: &[String], depth: u32) -> Result<Branch, StartupError> {
        let line = self.shown(command);
        self.say(format!("asking `{line}` for its help"));
        let answer = self.asker.ask(self.program, command).await;
        let answer = answer.map_err(|why| self.no_help(&line, &why))?;
        let mut root = Branch {
            word: command
                .last()
                .map_or(self.program, String::as_str)
                .to_owned(),
            help: answer.help,
            ..Branch::default()
        };
        if let Some((word, above)) = command.split_last()
            && let Ok(parent) = self.asker.ask(self.program, above).await
        {
            if parent.text == answer.text {
                return Err(usage(format!(
                    "`{line}` prints the help of `{}`\nhint: check the name of the subcommand",
                    self.shown(above)
                )));
            }
            root.about = parent.help.about_subcommand(word).map(str::to_owned);
        }
        self.below(&mut root, &answer.text, command, depth).await;
        if root.branches.is_empty() && !root.left_out.is_empty() {
            let (deeper, first) = (
                depth + 1,
                root.left_out.first().cloned().unwrap_or_default(),
            );
            return Err(usage(format!(
                "no subcommand of `{line}` can be drafted; {first}\nhint: try --depth {deeper}, or one of its subcommands: \
                 `ahma_mcp new {line} …`"
            )));
        }
        Ok(root)
    }

    /// Asks the subcommands of a command, whose own text is this.
    fn below<'b>(
        &'b self,
        branch: &'b mut Branch,
        text: &'b str,
        command: &'b [String],
        depth: u32,
    ) -> BoxFuture<'b, ()> {
        Box::pin(async move {
            if depth == 0 {
                return;
            }
            let all: Vec<(String, String)> = branch
                .help
                .subcommands()
                .map(|(name, about)| (name.to_owned(), about.to_owned()))
                .collect();
            let count = all.len();
            if count > MAX_SUBCOMMANDS {
                let more = count - MAX_SUBCOMMANDS;
                branch.left_out.push(format!(
                    "{more} further subcommands: at most {MAX_SUBCOMMANDS} are drafted"
                ));
            }
            let asking =
                all.into_iter()
                    .take(MAX_SUBCOMMANDS)
                    .enumerate()
                    .map(|(at, (word, about))| {
                        let what = format!("{} of {}", at + 1, count.min(MAX_SUBCOMMANDS));
                        self.subcommand(word, about, (text, command), depth, what)
                    });
            let mut asked = stream::iter(asking).buffered(AT_ONCE);
            while let Some(result) = asked.next().await {
                match result {
                    Ok(below) => branch.branches.push(below),
                    Err(why) => branch.left_out.push(why),
                }
            }
        })
    }

    async fn subcommand(
        &self,
        word: String,
        about: String,
        (text, above): (&str, &[String]),
        depth: u32,
        what: String,
    ) -> Result<Branch, String> {
        if self.begin.elapsed() > PATIENCE {
            return Err(format!("{word}: asking took too long"));
        }
        let mut command = above.to_vec();
        command.push(word.clone());
        let line = self.shown(&command);
        self.say(format!("asking `{line}` for its help ({what})"));
        let answer = self.asker.ask(self.program, &command).await;
        let answer = answer.map_err(|why| format!("{word}: {}", in_words(&why)))?;
        let about = (!about.is_empty()).then_some(about);
        if answer.text == text {
            return Ok(Branch {
                help: draft::of_row(&answer.help, &word),
                word,
                about,
                ..Branch::default()
            });
        }
        let mut branch = Branch {
            word: word.clone(),
            about,
            help: answer.help,
            ..Branch::default()
        };
        if depth > 1 {
            self.below(&mut branch, &answer.text, &command, depth - 1)
                .await;
        }
        let has_own = branch.help.subcommands().next().is_some();
        match has_own && branch.branches.is_empty() {
            true => Err(format!("{word}: it has subcommands of its own")),
            false => Ok(branch),
        }
    }

    fn no_help(&self, line: &str, why: &NoHelp) -> StartupError {
        let by_hand = "write the tool file by hand: docs/mtdf.md begins with an example";
        let hint = match why {
            NoHelp::Missing => {
                "check the name; a path is one from the project. Programs in directories that commands cannot read need \
                 --sandbox-read"
            }
            NoHelp::NotStarted(_) => "try it yourself, then in the sandbox",
            NoHelp::Slow | NoHelp::Manual | NoHelp::Other(_) => by_hand,
        };
        let program = self.program;
        let what = match why {
            NoHelp::Missing => format!("there is no program `{program}` that commands could run"),
            why => format!("`{line}`: {}", in_words(why)),
        };
        usage(format!("{what}\nhint: {hint}"))
    }
}

fn in_words(why: &NoHelp) -> String {
    match why {
        NoHelp::Missing => "there is no such program".to_owned(),
        NoHelp::NotStarted(error) => format!("it cannot be started: {error}"),
        NoHelp::Slow => "it was asked for its help and did not end within 10 seconds".to_owned(),
        NoHelp::Manual => "it shows a page of its manual instead of help".to_owned(),
        NoHelp::Other(first) if first.is_empty() => "it prints no help".to_owned(),
        NoHelp::Other(first) => format!("it prints no help, but: {first}"),
    }
}

/// Waits for something, and says every second what goes on.
async fn telling<T>(now: &Mutex<String>, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(SAID_EVERY) => {
                let now = now.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let _ = writeln!(io::stderr(), "{now} …");
            }
        }
    }
}

/// Says what became of it, and what to do next.
fn tell(draft: &Draft, name: &str, target: Option<&Path>) {
    let mut lines: VecDeque<String> = VecDeque::new();
    let many = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let place = target
        .map(|it| format!(" in {}", it.display()))
        .unwrap_or_default();
    lines.push_back(format!(
        "drafted `{name}`{place}: {} with {}",
        many(draft.tools, "tool"),
        many(draft.arguments, "argument"),
    ));
    if draft.doubts > 0 {
        lines.push_back(format!(
            "unsure of {}, marked in the file",
            many(draft.doubts, "place")
        ));
    }
    let left_out = draft.left_out.iter().take(MAX_NAMED);
    lines.extend(left_out.map(|it| format!("left out: {it}")));
    if draft.left_out.len() > MAX_NAMED {
        lines.push_back(format!(
            "and {} more left out",
            draft.left_out.len() - MAX_NAMED
        ));
    }
    lines.push_back(match target {
        Some(path) => format!(
            "next: look at it, take out what nobody needs, and check it with `ahma_validate {}`; a server that is \
             started here offers it, and takes over what changes in it",
            path.display()
        ),
        None => "next: look at it, and save it with --add (in the project's .ahma/tools) or --output FILE".to_owned(),
    });
    for line in lines {
        let _ = writeln!(io::stderr(), "{line}");
    }
}
