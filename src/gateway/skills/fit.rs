//! Whether the fleet serves what the skills promise.

use super::{Skill, Skills};
use crate::{
    contract::{Hop, PurutoName},
    policy::{Finding, FindingCode, PolicySet},
    puruto::Fleet,
};

/// Which skills would be refused whoever asks: their target is not in `fleet` or does not serve
/// their action, or the policy of `caller`, as whom the gateway asks, denies it. Warnings, since
/// the gateway may stand elsewhere than the workers.
#[must_use]
pub fn misfits(skills: &Skills, fleet: &Fleet, caller: &PurutoName) -> Vec<Finding> {
    let policies = fleet.policies();
    let misfit = |skill: &Skill| {
        let (key, why) = why_not(skill, fleet, &policies, caller)?;
        let code = FindingCode::InvalidSkill;
        Some(Finding::warning(code, &skill.file, key, why))
    };
    skills.iter().filter_map(misfit).collect()
}

fn why_not(
    skill: &Skill,
    fleet: &Fleet,
    policies: &PolicySet,
    caller: &PurutoName,
) -> Option<(&'static str, String)> {
    let target = &skill.target;
    let Some(puruto) = fleet.get(target).filter(|it| it.worker.is_some()) else {
        let why = format!("no Puruto named {target} serves requests");
        return Some(("/puruto/target", why));
    };
    if let Err(denial) = puruto.serves(&skill.action) {
        return Some(("/puruto/action", denial.to_string()));
    }
    let decided = policies.decide(caller, target, &skill.action, Hop::default());
    let denial = decided.err()?;
    Some(("/puruto", denial.to_string()))
}
