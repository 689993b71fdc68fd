//! Why user namespaces are not to be had, and how to allow them. Reads settings of the kernel through a function, and changes none.

/// Reads a setting of the kernel by its path below `/proc/sys`.
pub(super) type Setting<'s> = &'s dyn Fn(&str) -> Option<String>;

/// The cause and the remedy.
pub(super) fn cause(setting: Setting<'_>) -> (&'static str, String) {
    let is = |path: &str, value: &str| setting(path).is_some_and(|it| it.trim() == value);
    let sysctl = |line: &str| {
        format!("as root: sysctl -w {line}; for good: echo '{line}' > /etc/sysctl.d/60-ahma.conf")
    };
    if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        let why = "AppArmor keeps programs without a profile from making user namespaces";
        let fix = "install the profile that docs/sandbox-troubleshooting.md shows (for this program alone), as root: \
            apparmor_parser -r /etc/apparmor.d/ahma_mcp";
        return (why, fix.to_owned());
    }
    if is("user/max_user_namespaces", "0") {
        let why = "the setting user.max_user_namespaces allows none";
        return (why, sysctl("user.max_user_namespaces=15000"));
    }
    if is("kernel/unprivileged_userns_clone", "0") {
        let why = "the setting kernel.unprivileged_userns_clone allows none to ordinary users";
        return (why, sysctl("kernel.unprivileged_userns_clone=1"));
    }
    let why = "the kernel refuses user namespaces here, as inside many containers";
    let fix = "allow them around this program: docker run --security-opt seccomp=unconfined, or a container with user namespaces; \
        docs/sandbox-troubleshooting.md has more";
    (why, fix.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves: P79.
    #[test]
    fn each_cause_has_its_remedy() {
        let of = |values: &[(&str, &str)]| {
            let setting = |path: &str| {
                let found = values.iter().find(|(it, _)| *it == path);
                found.map(|(_, value)| format!("{value}\n"))
            };
            let (why, fix) = cause(&setting);
            format!("{why}: {fix}")
        };
        let by_sysctl = of(&[("user/max_user_namespaces", "0")]);
        assert!(by_sysctl.contains("user.max_user_namespaces allows none: as root: sysctl -w user.max_user_namespaces=15000"), "{by_sysctl}");
        let by_debian = of(&[
            ("kernel/unprivileged_userns_clone", "0"),
            ("user/max_user_namespaces", "1000"),
        ]);
        assert!(
            by_debian.contains("sysctl -w kernel.unprivileged_userns_clone=1"),
            "{by_debian}"
        );
        let by_apparmor = of(&[
            ("kernel/apparmor_restrict_unprivileged_userns", "1"),
            ("user/max_user_namespaces", "1000"),
        ]);
        assert!(by_apparmor.starts_with("AppArmor keeps"), "{by_apparmor}");
        assert!(of(&[]).contains("inside many containers"));
    }
}
