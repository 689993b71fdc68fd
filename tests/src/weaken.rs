//! Takes kernel features away from a program, to see what it does on a machine that lacks them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use landlock::{
    AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// The main function of a program that weakens itself and becomes another:
/// `weakened WHAT PROGRAM [ARGUMENT…]`, where `WHAT` is `no-landlock`, `no-user-namespaces` or, for
/// that many sandboxes around it, `N-layers`.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let what = arguments.next().ok_or("what is to be taken away?")?;
    let command: Vec<OsString> = arguments.collect();
    let (program, rest) = command.split_first().ok_or("which program?")?;
    let what = what.to_str().ok_or("not a feature")?;
    match (what, what.strip_suffix("-layers").map(str::parse)) {
        ("no-landlock", _) => refuse_landlock()?,
        ("no-user-namespaces", _) => refuse_user_namespaces()?,
        (_, Some(Ok(layers))) => add_layers(layers)?,
        _ => return Err("unknown feature".into()),
    }
    Err(Command::new(program).args(rest).exec().into())
}

fn refuse_landlock() -> Result<(), Box<dyn std::error::Error>> {
    // landlock_create_ruleset, landlock_add_rule, landlock_restrict_self
    let rules = (444..=446).map(|call| (call, Vec::new())).collect();
    refuse(rules, 38)
}

fn refuse_user_namespaces() -> Result<(), Box<dyn std::error::Error>> {
    const NEW_USER: u64 = 0x1000_0000;
    let flags = |argument| {
        let operator = SeccompCmpOp::MaskedEq(NEW_USER);
        let condition =
            SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, NEW_USER)?;
        SeccompRule::new(vec![condition])
    };
    // clone and unshare, by the flag among their arguments
    let rules = BTreeMap::from([(56, vec![flags(0)?]), (272, vec![flags(0)?])]);
    refuse(rules, 1)
}

fn refuse(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: u32,
) -> Result<(), Box<dyn std::error::Error>> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let (allow, refuse) = (SeccompAction::Allow, SeccompAction::Errno(errno));
    let filter = SeccompFilter::new(rules, allow, refuse, architecture)?;
    let program: BpfProgram = filter.try_into()?;
    apply_filter(&program)?;
    Ok(())
}

/// Layers that forbid nothing anyone does, but count.
fn add_layers(count: usize) -> Result<(), Box<dyn std::error::Error>> {
    for _ in 0..count {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::MakeBlock)?
            .create()?
            .add_rules(landlock::path_beneath_rules(["/"], AccessFs::MakeBlock))?
            .restrict_self()?;
    }
    Ok(())
}
