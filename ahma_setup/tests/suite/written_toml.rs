//! Configurations of Codex as people write them.

use proptest::collection::vec;
use proptest::prelude::*;

const KEYS: [&str; 6] = [
    "model = \"gpt-5\"\n",
    "# which one\napproval_policy = 'on-request' # ask\n",
    "notify = [\n  \"sh\", # a shell\n  \"-c\",\n]\n\n",
    "note = \"\"\"\n[mcp_servers.fake]\n\"\"\"\n",
    "date = 1979-05-27T07:32:00Z\n",
    "sandbox.mode = \"x\"\n",
];
const TABLES: [&str; 9] = [
    "[profiles.deep]\nmodel = \"o3\"\n",
    "[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\"-y\", \"docs\"]\n\n# its variables\n[mcp_servers.docs.env]\nKEY = \"v\"\n",
    "[mcp_servers]\n# one line\nweb = { url = \"https://example.org\" }\n",
    "[mcp_servers.\"with space\"]\ncommand=\"x\"\n",
    "  [tui]\n  theme = \"dark\"\n",
    "[[rules]]\nname = \"a\"\n[[rules]]\nname = \"b\"\n",
    "# [mcp_servers.Ahama]\n# command = \"old\"\n",
    "[shell_environment_policy.set]\nPATH = \"/usr/bin\"\n",
    "[history]\npersistence = \"none\"\n\n\n",
];
const FEATURES: [&str; 7] = [
    "",
    "[features]\nweb_search = true\n",
    "[features] # on and off\n\n# nothing\n",
    "[features]\nshell_tool = true # keep?\nweb_search = true\n",
    "[features]\nx.y = 1\n[features.sub]\na = 1\n",
    "[features.sub]\na = 1\n",
    "[features]",
];

/// A file, also with dotted keys, in any order, with either line end.
pub(crate) fn file() -> impl Strategy<Value = String> {
    let keys = proptest::sample::subsequence(KEYS.to_vec(), 0..KEYS.len()).prop_shuffle();
    // Two tables of one name would be none.
    let tables = proptest::sample::subsequence(TABLES.to_vec(), 0..TABLES.len());
    let features = proptest::sample::select(FEATURES.as_slice());
    let gaps = vec(0..3usize, 20);
    let dotted = proptest::sample::select(["", "features.web_search = true\n"].as_slice());
    (keys, tables, features, gaps, dotted, any::<[bool; 3]>()).prop_map(
        |(keys, tables, features, gaps, dotted, [has_crlf, has_mark, has_end])| {
            let mut text = String::new();
            let features = if dotted.is_empty() { features } else { "" };
            let parts = keys
                .into_iter()
                .chain([dotted])
                .chain(tables)
                .chain([features]);
            for (part, gap) in parts.zip(gaps) {
                text.push_str(part);
                text.push_str(&"\n".repeat(if part.is_empty() { 0 } else { gap }));
            }
            if !has_end {
                text.truncate(text.trim_end().len());
            }
            if has_crlf {
                text = text.replace('\n', "\r\n");
            }
            let mark = if has_mark { "\u{feff}" } else { "" };
            format!("{mark}{text}")
        },
    )
}
