// SPDX-License-Identifier: GPL-2.0-or-later
//! Charges to budgets as events.

use super::{BudgetUse, Budgets, Event, Text};
use crate::policy::admission::ledger::Charged;
use crate::policy::admission::settings::Budget;
use crate::policy::admission::usage::Spent;

/// What was charged for a run, and what is `spent` by now of the budgets that it counts towards.
pub fn charged(charged: &Charged, budget: &Budget, spent: &Spent) -> Event {
    let user = charged.payer.user;
    let account = charged.payer.account.as_ref().map(|name| name.as_str());
    let of = |hours: Option<f64>, used_gpu_hours: f64| {
        hours.map(|budget_gpu_hours| BudgetUse {
            used_gpu_hours,
            budget_gpu_hours,
        })
    };
    Event::BudgetCharged {
        urgent: charged.job,
        user,
        account: account.map(Text::of),
        start: charged.start,
        until: charged.until,
        over: charged.over,
        gpu_hours: charged.gpu_h,
        budgets: Budgets {
            user: of(budget.gpu_hours_per_user, spent.by_user(user)),
            account: account.and_then(|name| of(budget.gpu_hours_per_account, spent.by_account(name))),
            in_all: of(budget.gpu_hours_in_all, spent.all),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::admission::ledger::Payer;
    use crate::policy::ids::{JobId, UserId};
    use crate::policy::labels::Name;
    use crate::policy::units::UnixTime;
    use serde_json::{Value, json};

    #[test]
    fn only_budgets_that_are_set_and_that_the_job_counts_towards_are_told() {
        let mut spent = Spent::default();
        spent.add(UserId(1000), Some("vision"), 3.0);
        spent.add(UserId(1001), Some("Vision"), 4.0);
        spent.add(UserId(1000), None, 5.0);
        let share = |used: f64, budget: f64| json!({"used_gpu_hours": used, "budget_gpu_hours": budget});
        for (account, [per_user, per_account, in_all], told) in [
            (
                Some("vision"),
                [Some(50.0), None, None],
                json!({"user": share(8.0, 50.0)}),
            ),
            (
                Some("vision"),
                [None, Some(6.0), Some(500.0)],
                json!({"account": share(7.0, 6.0), "in_all": share(12.0, 500.0)}),
            ),
            (None, [None, Some(6.0), None], json!({})),
        ] {
            let run = Charged {
                job: JobId(7),
                payer: Payer {
                    user: UserId(1000),
                    account: account.map(Name::from),
                },
                start: UnixTime(100),
                until: UnixTime(3700),
                over: true,
                gpu_h: 3.0,
            };
            let budget = Budget {
                gpu_hours_per_user: per_user,
                gpu_hours_per_account: per_account,
                gpu_hours_in_all: in_all,
                window_h: 168,
            };
            let event: Value = serde_json::to_value(charged(&run, &budget, &spent)).unwrap();
            let mut line = json!({
                "kind": "budget_charged", "urgent": 7, "user": 1000, "start": 100, "until": 3700, "over": true,
                "gpu_hours": 3.0, "budgets": told,
            });
            if let Some(account) = account {
                line["account"] = account.into();
            }
            assert_eq!(event, line);
        }
    }
}
