use super::*;

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

/// Returns the place of a new connection, and the evictions that made room for it.
fn admit(occupancy: &Arc<Occupancy>, address: IpAddr) -> (Option<Place>, Vec<Evicted>) {
    let mut evicted = Vec::new();
    let place = occupancy.admit(address, |what| evicted.push(what));
    (place, evicted)
}

fn place(occupancy: &Arc<Occupancy>, address: IpAddr) -> Place {
    let (place, evicted) = admit(occupancy, address);
    assert_eq!(evicted, []);
    place.expect("there is room")
}

fn is_evicted(place: &Place) -> bool {
    place.seat.gives_way.is_cancelled()
}

#[tokio::test(start_paused = true)]
async fn silent_connections_give_way_before_idle_ones_and_busy_ones_never() {
    let occupancy = Occupancy::new(4, 100);
    let idle: Vec<Place> = (0..2).map(|_| place(&occupancy, HERE)).collect();
    // The second connection has been idle for longer.
    for at in [1, 0] {
        idle[at].begin();
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        idle[at].rest();
    }
    let busy = place(&occupancy, HERE);
    busy.begin();
    let silent = place(&occupancy, HERE);
    let mut later = Vec::new();
    for (expected, gone) in [
        (Evicted::SilentConnection, &silent),
        (Evicted::IdleConnection, &idle[1]),
        (Evicted::IdleConnection, &idle[0]),
    ] {
        let (place, evicted) = admit(&occupancy, HERE);
        assert_eq!(evicted, [expected]);
        assert!(is_evicted(gone));
        place.as_ref().expect("one gave way").begin();
        later.push(place);
    }
    assert!(!is_evicted(&busy));
    let (refused, evicted) = admit(&occupancy, HERE);
    assert!(refused.is_none());
    assert_eq!(evicted, []);
    drop(busy);
    place(&occupancy, HERE);
}

#[tokio::test]
async fn one_address_takes_its_own_share_and_this_machine_is_free() {
    let occupancy = Occupancy::new(100, 2);
    let here: Vec<Place> = (0..5).map(|_| place(&occupancy, HERE)).collect();
    let first = place(&occupancy, THERE);
    let second = place(&occupancy, THERE);
    let (third, evicted) = admit(&occupancy, THERE);
    assert_eq!(evicted, [Evicted::SilentConnection]);
    assert!(is_evicted(&first) && !is_evicted(&second));
    let third = third.expect("the first gave way");
    second.begin();
    third.begin();
    assert!(admit(&occupancy, THERE).0.is_none());
    // An idle connection is evicted too, but none of another address.
    let other = place(&occupancy, ELSEWHERE);
    other.begin();
    other.rest();
    third.rest();
    let (fourth, evicted) = admit(&occupancy, THERE);
    assert_eq!(evicted, [Evicted::IdleConnection]);
    assert!(is_evicted(&third) && !is_evicted(&second) && !is_evicted(&other));
    let fourth = fourth.expect("the third gave way");
    drop(other);
    place(&occupancy, ELSEWHERE);
    assert!(!here.iter().any(is_evicted));
    drop((second, third, first, fourth));
    let (_one, _two) = (place(&occupancy, THERE), place(&occupancy, THERE));
}
