//! URLs that people write into the file: what they get wrong.

/// What is wrong with a URL, if anything. Only what people get wrong: whoever connects to it parses it.
pub(super) fn url_fault(url: &str) -> Option<(&'static str, &'static str)> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Some(("this is not a URL", "write it in full: `https://host/path`"));
    };
    if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
        return Some((
            "only `http` and `https` are supported",
            "write it as `https://host/path`",
        ));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some((
            "the URL holds a user name or password",
            "URLs are shown; use `headers` with a reference, as in `Bearer ${env:TOKEN}`",
        ));
    }
    if authority.is_empty() || authority.starts_with(':') {
        return Some(("the URL names no host", "write it as `https://host/path`"));
    }
    let is_odd = |letter: char| letter.is_whitespace() || letter.is_control();
    url.contains(is_odd).then_some((
        "the URL holds a blank or a control character",
        "write a blank as `%20`",
    ))
}
