use super::*;

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

/// Returns the place of a new connection, and the evictions that made room for it.
fn admit(occupancy: &Arc<Occupancy>, address: IpAddr) -> (Option<ConnectionSlot>, Vec<Evicted>) {
    let mut evicted = Vec::new();
    let slot = occupancy.admit(address, |what| evicted.push(what));
    (slot, evicted)
}

fn slot(occupancy: &Arc<Occupancy>, address: IpAddr) -> ConnectionSlot {
    let (slot, evicted) = admit(occupancy, address);
    assert_eq!(evicted, []);
    slot.expect("there is room")
}

fn is_evicted(slot: &ConnectionSlot) -> bool {
    slot.slot_state.eviction.is_cancelled()
}

#[tokio::test(start_paused = true)]
async fn silent_connections_close_before_idle_ones_busy_never() {
    let occupancy = Occupancy::new(4, 100);
    let idle: Vec<ConnectionSlot> = (0..2).map(|_| slot(&occupancy, HERE)).collect();
    // The second connection has been idle for longer.
    for at in [1, 0] {
        idle[at].mark_busy();
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        idle[at].mark_idle();
    }
    let busy = slot(&occupancy, HERE);
    busy.mark_busy();
    let silent = slot(&occupancy, HERE);
    let mut later = Vec::new();
    for (expected, gone) in [
        (Evicted::SilentConnection, &silent),
        (Evicted::IdleConnection, &idle[1]),
        (Evicted::IdleConnection, &idle[0]),
    ] {
        let (slot, evicted) = admit(&occupancy, HERE);
        assert_eq!(evicted, [expected]);
        assert!(is_evicted(gone));
        slot.as_ref().expect("one gave way").mark_busy();
        later.push(slot);
    }
    assert!(!is_evicted(&busy));
    let (refused, evicted) = admit(&occupancy, HERE);
    assert!(refused.is_none());
    assert_eq!(evicted, []);
    drop(busy);
    slot(&occupancy, HERE);
}

#[tokio::test]
async fn each_address_has_a_share_except_loopback() {
    let occupancy = Occupancy::new(100, 2);
    let here: Vec<ConnectionSlot> = (0..5).map(|_| slot(&occupancy, HERE)).collect();
    let first = slot(&occupancy, THERE);
    let second = slot(&occupancy, THERE);
    let (third, evicted) = admit(&occupancy, THERE);
    assert_eq!(evicted, [Evicted::SilentConnection]);
    assert!(is_evicted(&first) && !is_evicted(&second));
    let third = third.expect("the first gave way");
    second.mark_busy();
    third.mark_busy();
    assert!(admit(&occupancy, THERE).0.is_none());
    // An idle connection is evicted too, but none of another address.
    let other = slot(&occupancy, ELSEWHERE);
    other.mark_busy();
    other.mark_idle();
    third.mark_idle();
    let (fourth, evicted) = admit(&occupancy, THERE);
    assert_eq!(evicted, [Evicted::IdleConnection]);
    assert!(is_evicted(&third) && !is_evicted(&second) && !is_evicted(&other));
    let fourth = fourth.expect("the third gave way");
    drop(other);
    slot(&occupancy, ELSEWHERE);
    assert!(!here.iter().any(is_evicted));
    drop((second, third, first, fourth));
    let (_one, _two) = (slot(&occupancy, THERE), slot(&occupancy, THERE));
}
