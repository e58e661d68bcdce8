//! How the free slots of a target are shared out among its lanes. Pure.
//!
//! A lane is *hot* while the broker says that messages wait in it. Hot lanes share the free slots
//! strictly, high before normal, every tenth slot to low. A cold lane keeps a standing demand, so
//! that its next message comes at once; as it is believed empty, that demand counts against
//! nobody. Should it turn out not to be, what comes too much is given back.

/// Of this many slots, one goes to the low lane while messages wait in it.
const LOW_EVERY: u64 = 10;

/// What is known of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    /// Asked for and not come yet.
    pub(super) demanded: usize,
    /// Waiting at the broker when it last said so.
    pub(super) backlog: u64,
}

/// What to do with a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    /// Withdraw what was asked for.
    pub(super) withdraw: bool,
    /// Then ask for so many more.
    pub(super) demand: usize,
}

const HIGH: usize = 0;
const NORMAL: usize = 1;
const LOW: usize = 2;

/// The orders for high, normal and low with `free` slots; `turn` counts the slots given to hot
/// lanes and goes on.
pub(super) fn share(free: usize, views: [View; 3], turn: &mut u64) -> [Order; 3] {
    if free == 0 {
        return views.map(|view| Order {
            withdraw: view.demanded > 0,
            demand: 0,
        });
    }
    let [high, normal, low] = views.map(|view| view.backlog > 0);
    let hot = [high, normal, low];
    let mut orders = [Order::default(); 3];
    for (lane, ((order, view), hot)) in orders.iter_mut().zip(views).zip(hot).enumerate() {
        if !hot {
            let standing = if lane == NORMAL && !high { free } else { 1 };
            *order = cold(view.demanded, standing);
        }
    }
    let out: usize = views
        .iter()
        .filter(|it| it.backlog > 0)
        .map(|it| it.demanded)
        .sum();
    for _ in out..free {
        let Some(lane) = next(hot, *turn) else { break };
        *turn += 1;
        if let Some(order) = orders.get_mut(lane) {
            order.demand += 1;
        }
    }
    orders
}

/// Which hot lane gets the next slot.
const fn next([high, normal, low]: [bool; 3], turn: u64) -> Option<usize> {
    match (high, normal, low) {
        (_, _, true) if turn % LOW_EVERY == LOW_EVERY - 1 => Some(LOW),
        (true, _, _) => Some(HIGH),
        (false, true, _) => Some(NORMAL),
        (false, false, true) => Some(LOW),
        (false, false, false) => None,
    }
}

/// Brings a cold lane's standing demand to `standing`. A demand that is too large is withdrawn only
/// when it is far too large, since withdrawing costs the broker more than giving back.
const fn cold(demanded: usize, standing: usize) -> Order {
    if demanded > 2 * standing + 2 {
        Order {
            withdraw: true,
            demand: standing,
        }
    } else {
        Order {
            withdraw: false,
            demand: standing.saturating_sub(demanded),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn view(demanded: usize, backlog: u64) -> View {
        View { demanded, backlog }
    }

    fn demands(free: usize, views: [View; 3]) -> [usize; 3] {
        share(free, views, &mut 0).map(|order| order.demand)
    }

    #[test]
    fn an_idle_target_stands_ready_on_every_lane() {
        assert_eq!(demands(8, [view(0, 0); 3]), [1, 8, 1]);
        assert_eq!(demands(8, [view(1, 0), view(8, 0), view(1, 0)]), [0, 0, 0]);
    }

    #[test]
    fn a_waiting_high_lane_gets_the_slots_before_a_waiting_normal_one() {
        assert_eq!(demands(8, [view(0, 5), view(0, 5), view(1, 0)]), [8, 0, 0]);
        assert_eq!(demands(8, [view(1, 0), view(0, 5), view(1, 0)]), [0, 8, 0]);
    }

    #[test]
    fn low_gets_a_tenth_while_others_wait_and_all_of_it_when_alone() {
        let mut turn = 0;
        let mut given = [0; 3];
        for _ in 0..100 {
            let orders = share(1, [view(0, 9), view(0, 9), view(0, 9)], &mut turn);
            for (given, order) in given.iter_mut().zip(orders) {
                *given += order.demand;
            }
        }
        assert_eq!(given, [90, 0, 10]);
        assert_eq!(demands(4, [view(1, 0), view(4, 0), view(0, 9)]), [0, 0, 4]);
    }

    #[test]
    fn without_a_free_slot_everything_is_withdrawn() {
        let orders = share(0, [view(1, 0), view(0, 7), view(2, 0)], &mut 0);
        assert_eq!(orders.map(|it| it.withdraw), [true, false, true]);
        assert_eq!(orders.map(|it| it.demand), [0, 0, 0]);
    }

    #[test]
    fn a_standing_demand_far_above_the_free_slots_is_replaced() {
        let [_, normal, _] = share(2, [view(1, 0), view(100, 0), view(1, 0)], &mut 0);
        assert_eq!(
            normal,
            Order {
                withdraw: true,
                demand: 2
            }
        );
    }

    proptest! {
        #[test]
        fn hot_lanes_never_get_more_than_the_free_slots(
            free in 0_usize..50,
            demanded in prop::array::uniform3(0_usize..60),
            backlog in prop::array::uniform3(0_u64..3),
            mut turn in 0_u64..20,
        ) {
            let views = [0, 1, 2].map(|it| view(demanded[it], backlog[it]));
            let orders = share(free, views, &mut turn);
            let hot = [0, 1, 2].into_iter().filter(|it| backlog[*it] > 0);
            let asked: usize = hot.clone().map(|it| orders[it].demand).sum();
            let before: usize = hot.map(|it| demanded[it]).sum();
            prop_assert!(asked == 0 || before + asked == free);
        }
    }
}
