//! The command line of `ahma_mcp auth`.

use clap::Subcommand;

use super::downstream_args::Format;

const LOGIN_HELP: &str = "\
The browser is opened with the page of the server's authorization server. Where that is not possible, open the URL
anywhere, and paste the one that the browser shows in the end.

Exit codes: 0 signed in, or the server asks nobody, 1 not signed in, 2 bad usage or configuration";

/// What is done about signing in.
#[derive(Debug, Clone, Subcommand)]
pub(super) enum AuthCommand {
    /// Sign in to a server; the tokens are kept, renewed, and used by every `ahma_mcp` of this user.
    #[command(after_help = LOGIN_HELP)]
    Login {
        /// The server, by its name in the file.
        #[arg(value_name = "NAME")]
        server: String,
        /// Open no browser, only print the URL.
        #[arg(long)]
        no_browser: bool,
        /// Keep the tokens in a file that only you can read, also where there is a keyring.
        #[arg(long)]
        no_keyring: bool,
    },
    /// Show which servers somebody is signed in to.
    Status {
        /// How they are shown.
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Forget the tokens of a server.
    Logout {
        /// The server, by its name in the file.
        #[arg(value_name = "NAME")]
        server: String,
    },
}
