use proptest::prelude::*;

use super::*;
use crate::query::path::Step;

fn literals() -> impl Strategy<Value = Literal> {
    prop_oneof![
        any::<bool>().prop_map(Literal::Bool),
        any::<i32>().prop_map(|number| Literal::Number(number.to_string())),
        "-?[1-9]{1,3}\\.[0-9]{1,3}(e[+-]?[0-9])?".prop_map(Literal::Number),
        "[a-z'\"\\\\`é ]{0,6}".prop_map(Literal::Text),
    ]
}

fn paths() -> impl Strategy<Value = Path> {
    let key = prop_oneof![
        "[a-z_][a-z0-9_-]{0,4}",
        "[a-z .'`\"é]{1,4}",
        Just("not".to_owned())
    ];
    let step = prop_oneof![
        key.clone().prop_map(Step::Key),
        (0_usize..9).prop_map(Step::Index)
    ];
    (key, proptest::collection::vec(step, 0..3)).prop_map(|(key, mut steps)| {
        steps.insert(0, Step::Key(key));
        Path { steps }
    })
}

fn conditions() -> impl Strategy<Value = Condition> {
    use Comparison::*;
    let comparison = prop_oneof![
        Just(Equal),
        Just(NotEqual),
        Just(Less),
        Just(LessOrEqual),
        Just(Greater),
        Just(GreaterOrEqual)
    ];
    let leaf = prop_oneof![
        (paths(), comparison, literals()).prop_map(|(path, comparison, value)| {
            Condition::Compare {
                path,
                comparison,
                value,
            }
        }),
        (paths(), literals()).prop_map(|(path, value)| Condition::Contains { path, value }),
        (paths(), proptest::collection::vec(literals(), 1..4))
            .prop_map(|(path, values)| Condition::In { path, values }),
        paths().prop_map(|path| Condition::IsNull { path }),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 2..4).prop_map(Condition::Any),
            proptest::collection::vec(inner.clone(), 2..4).prop_map(Condition::All),
            inner.prop_map(|inner| Condition::Not(Box::new(inner))),
        ]
    })
}

proptest! {
    #[test]
    fn condition_round_trips(condition in conditions()) {
        let written = condition.to_string();
        prop_assume!(written.chars().count() <= 1_000);
        let read = parse(&written).map_err(|error| TestCaseError::fail(format!("{written}: {error}")))?;
        prop_assert_eq!(format!("{read:?}"), format!("{condition:?}"), "{}", written);
    }
}

#[test]
fn operator_precedence_is_not_and_or() {
    for (text, expected) in [
        ("a = 1 or b = 2 and c = 3", "a = 1 or (b = 2 and c = 3)"),
        ("not a = 1 and b = 2", "not (a = 1) and b = 2"),
        (
            "a not in (1) and b is not null",
            "not (a in (1)) and not (b is null)",
        ),
        ("a = null or b != NULL", "a is null or not (b is null)"),
        ("! (a == 1 && b <> 2)", "not (a = 1 and b != 2)"),
        ("$.a.b[0]['x y'] = \"q\"", "a.b[0].`x y` = 'q'"),
        ("a =~ '\\d+'", "a matches \"\\\\d+\""),
        ("'field' = 'it''s'", "field = \"it's\""),
    ] {
        assert_eq!(parse(text).expect(text).to_string(), expected);
    }
}
