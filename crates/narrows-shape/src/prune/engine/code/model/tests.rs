use super::super::NAMES;
use super::*;

#[test]
fn each_weight_belongs_to_its_feature() {
    assert_eq!(WEIGHTS.map(|(name, _)| name), NAMES);
}

#[test]
fn likelihood_grows_with_score_and_sums_to_one() {
    let mut named = [0.0; FEATURES];
    named[0] = 1.0;
    let likely = likelihood(&[[0.0; FEATURES], named, [0.0; FEATURES]]);
    assert!(likely[1] > likely[0] && likely[0] == likely[2]);
    assert!((likely.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    assert!(likelihood(&[]).is_empty());
}
