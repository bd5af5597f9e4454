use narrows_wire::Raw;

use super::params;

#[test]
fn goal_is_sent_beside_the_arguments() {
    let arguments = Raw::from_static(r#"{"n":1.0}"#);
    assert_eq!(
        params("a__b", None, &arguments).as_str(),
        r#"{"name":"a__b","_meta":{"progressToken":1},"arguments":{"n":1.0}}"#
    );
    assert_eq!(
        params("a__b", Some("find 'it'"), &arguments).as_str(),
        r#"{"name":"a__b","_meta":{"progressToken":1,"narrows/goal":"find 'it'"},"arguments":{"n":1.0}}"#
    );
}
