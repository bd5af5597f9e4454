//! The words that programmers exchange for each other, as tables.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::stem;

/// Whether a word of a question says nothing about the code that is meant.
pub(super) fn is_empty(word: &str) -> bool {
    has(&EMPTY_WORDS, word)
}

/// Whether a word may open a question before it says what it is about (`Find
/// where …`, `I need to change …`). Further on it counts.
pub(super) fn is_opening(word: &str) -> bool {
    has(&OPENING_WORDS, word)
}

/// Whether a word is so small that it counts in names alone: `from_url`, `is_open`.
pub(super) fn is_small(word: &str) -> bool {
    has(&SMALL_WORDS, word)
}

/// The groups that a word belongs to, by its stem, as lists of stems.
pub(super) fn related(root: &str) -> impl Iterator<Item = &'static [&'static str]> {
    let groups = GROUPS_OF.get(root).map_or(&[][..], Vec::as_slice);
    groups.iter().map(|&group| STEMS[group].as_slice())
}

type Words = LazyLock<Vec<&'static str>>;

static EMPTY_WORDS: Words = LazyLock::new(|| sorted(EMPTY));
static OPENING_WORDS: Words = LazyLock::new(|| sorted(OPENING));
static SMALL_WORDS: Words = LazyLock::new(|| sorted(SMALL));
static STEMS: LazyLock<Vec<Vec<&'static str>>> = LazyLock::new(|| {
    let stems = |group: &&'static str| group.split_ascii_whitespace().map(stem).collect();
    GROUPS.iter().map(stems).collect()
});
static GROUPS_OF: LazyLock<HashMap<&'static str, Vec<usize>>> = LazyLock::new(|| {
    let mut groups: HashMap<&'static str, Vec<usize>> = HashMap::new();
    for (at, stems) in STEMS.iter().enumerate() {
        for stem in stems {
            groups.entry(stem).or_default().push(at);
        }
    }
    groups
});

fn sorted(words: &'static str) -> Vec<&'static str> {
    let mut words: Vec<&str> = words.split_ascii_whitespace().collect();
    words.sort_unstable();
    words
}

fn has(words: &Words, word: &str) -> bool {
    words.binary_search(&word).is_ok()
}

const EMPTY: &str = "a an the this that these those are was were be been being do does did done \
    had i we you it its they them he she of about over under no then else when where which what \
    who why how could should would will may might must there here each more most some such only \
    own so than too very just also but up out off back me my our your their us am s t e g etc \
    exactly please given supplied wrong via whose thing things used using";

const OPENING: &str = "need want like modify change edit code used use find locate show explain \
    describe tell give look looking understand see know implemented implementation implement \
    implements part parts module file function method class section place piece logic line lines \
    works work fix bug bugs issue problem error refactor add task go fail fails happen happens \
    responsible definition defined source help review debug improve rewrite extend update test \
    tests write happening deal deals handled done get let try trying where";

const SMALL: &str = "from to into with by is has have if whether all any not or and in on for as \
    can at true";

/// Words that stand for each other, in code and in what is said of it. A word
/// may be in several groups.
const GROUPS: &[&str] = &[
    // What is done.
    "get fetch obtain retrieve return hand give provide look lookup acquire yield read query resolve access extract take load",
    "set assign put store define specify configure update setting choose change modify with",
    "create construct build make new init initialize instantiate generate produce from form compose assemble setup factory allocate alloc instance fresh prepare empty default",
    "compute calculate calc work evaluate eval determine derive estimate figure get",
    "check verify validate test ensure assert confirm sure valid detect validation verification is",
    "is has whether if true can should contains determine indicate report does check equal exists need are",
    "convert transform to into turn change translate cast as coerce map normalize from represent conversion",
    "remove delete del drop discard erase clear pop eliminate strip purge evict unset rm exclude clean destroy take",
    "parse interpret read load decode deserialize analyse analyze scan tokenize lex unmarshal unpack process",
    "write save dump serialize store persist output export flush emit encode record marshal pack",
    "split divide break separate partition chunk segment explode",
    "search find lookup locate seek match discover detect identify index look",
    "add insert append attach push include extend register put enqueue join prepend onto",
    "merge combine join concat concatenate unite union fold collapse aggregate gather collect",
    "stop halt end finish terminate kill cancel abort shutdown quit exit pause interrupt break",
    "start begin launch run open init boot spawn activate enable fork",
    "close shut shutdown disconnect release dispose teardown finalize end",
    "run execute exec perform invoke call apply do dispatch process handle trigger fire main",
    "handle on callback when process deal event listen hook react",
    "send transmit post emit dispatch publish deliver submit forward push sent",
    "receive recv accept read consume get",
    "consume into take own ownership move",
    "attempt try tries fallible",
    "show display print render draw output format report paint plot repr view",
    "format str string text stringify repr render to fmt represent representation",
    "replace substitute sub swap override overwrite exchange",
    "rename move relocate mv",
    "update refresh change modify mutate alter adjust patch edit sync set",
    "reset restore clear revert rollback undo",
    "wait sleep block await poll delay until",
    "copy clone duplicate dup replicate shallow",
    "sort order rank arrange",
    "iterate iter loop traverse walk visit enumerate each foreach over iterator yield",
    "filter select exclude restrict where skip ignore pick predicate",
    "select choose pick decide prefer resolve",
    "wrap decorate enclose surround proxy inner",
    "unwrap inner into underlying",
    "import load require include",
    "install setup deploy installation",
    "register registry subscribe add install bind",
    "unregister unsubscribe remove detach unbind",
    "bind listen attach bound",
    "connect establish open link dial",
    "quote escape encode",
    "unquote unescape decode",
    "compress zip deflate gzip pack",
    "expand extract decompress unzip inflate unpack",
    "round floor ceil truncate",
    "grow expand extend enlarge widen reserve resize additional",
    "shrink reduce compress truncate trim minimize squeeze compact shorten",
    "skip ignore omit bypass exclude",
    "allow permit enable accept grant support",
    "deny reject refuse disable forbid block no",
    "raise throw error thrown exception",
    "advance next step forward increment",
    "limit bound range restrict clamp cap truncate max maximum",
    "log record trace report audit",
    "draw redraw fill paint refresh",
    "mark flag label tag annotate",
    "assign allocate give attribute",
    "associate map bind link",
    "complete finish done",
    "retry repeat again attempt",
    "schedule queue plan defer",
    "escape sanitize clean",
    "hide mask conceal",
    "visit walk traverse",
    "lock mutex acquire guard synchronize",
    "encrypt cipher encode seal",
    "authenticate authorize login auth credential",
    "warn alert notify deprecate warning",
    "notify signal wake inform alert",
    // What it is done to.
    "list sequence array vec vector collection items seq arr slice tuple series",
    "dict dictionary mapping map table hash object record",
    "object thing item instance entity obj",
    "value content val data item payload",
    "connection link conn socket session channel",
    "file document doc path",
    "path location route filename file uri url dir address",
    "error err failure fail problem exception fault issue warning invalid occur",
    "timeout time limit deadline wait expire ttl interval duration delay",
    "option opt setting config configuration conf cfg preference param parameter kwarg flag property",
    "argument arg param parameter input kwarg keyword",
    "function func fn routine callback cb method handler callable hook closure",
    "number num count amount quantity total len length size cnt",
    "index idx position pos offset place",
    "size length len extent width capacity count height dimension",
    "min minimum lowest least small lower",
    "max maximum highest largest upper peak most",
    "directory dir folder path",
    "element elem item member entry node child children",
    "pair entry tuple item couple",
    "request req call query message",
    "response resp reply answer result res",
    "message msg text notification",
    "use employ apply utilize with using",
    "user account usr login owner",
    "current present now active curr",
    "all every each entire whole complete full any",
    "old previous prev last before prior former",
    "next follow following succ after subsequent",
    "before pre previous",
    "after post next",
    "first begin head lead leading start initial top",
    "last end tail final trail trailing bottom",
    "equal eq same identical match equivalent compare cmp equality",
    "difference diff delta distance dist subtract minus sub differ",
    "sum total add plus accumulate aggregate",
    "product multiply mul times dot prod",
    "average mean avg",
    "random rand rng sample shuffle",
    "async asynchronous future promise coroutine task deferred",
    "thread worker process proc job task",
    "hash digest checksum fingerprint signature",
    "password passwd pass secret credential",
    "temporary temp tmp scratch",
    "class type cls kind",
    "type kind class cls sort",
    "variable var param",
    "environment environ env context ctx variable",
    "character char letter rune codepoint",
    "integer int number num",
    "boolean bool flag true false predicate",
    "expression expr formula term",
    "polynomial poly",
    "matrix mat arr",
    "image img picture bitmap",
    "template tmpl pattern",
    "pattern regex regexp glob regular",
    "separator separate sep delimiter",
    "column col field",
    "field attribute attr property prop member column",
    "schema model struct definition spec",
    "database db sql",
    "transaction txn tx commit",
    "span range interval region slice segment inclusive",
    "package pkg module distribution dist bundle",
    "version ver revision release",
    "address addr host url ip",
    "server serve host service daemon",
    "client peer remote",
    "header head metadata meta",
    "information info about metadata stat",
    "cache memo memoize store buffer",
    "buffer buf queue",
    "child children sub descendant kid nested inner",
    "parent ancestor outer super enclosing owner container",
    "root base top",
    "base abstract",
    "leaf terminal end",
    "pointer ptr reference ref addr",
    "reference ref borrow mut as",
    "weight score rank priority cost",
    "probability prob likelihood chance",
    "vertex vertices node point",
    "edge arc link",
    "empty blank null none nothing missing no zero",
    "exist present contain has available",
    "undefined undef null none nil missing absent",
    "default standard fallback initial std",
    "name label identifier ident id title key symbol",
    "id identifier ident identity key",
    "date time day datetime timestamp calendar",
    "second sec milli millisecond ms",
    "byte bytes octet raw binary",
    "line row",
    "example sample demo",
    "token tok lexeme",
    "statement stmt",
    "declaration decl define definition",
    "operation op operator action",
    "context ctx state scope",
    "command cmd action",
    "event evt signal notification",
    "upper uppercase capital",
    "lower lowercase small",
    "absolute abs",
    "coefficient coef coeff factor",
    "integral integrate quad",
    "derivative differentiate diff grad gradient",
    "eigenvalue eig eigenvector",
    "inverse inv reverse reciprocal flip",
    "transpose t",
    "covariance cov",
    "correlation corr",
    "variance var",
    "deviation std dev",
    "distribution dist",
    "frequency freq count",
    "histogram hist",
    "document doc docs documentation",
    "remaining rest left remainder",
    "single one only individual",
    "multiple many several all",
    "without no unchecked non",
    "stack push pop",
    "structure struct field",
    "shape dims dimension size",
    "unsigned uint",
    "language lang locale",
    "permission perm access right",
    "original orig source src",
    "source src origin input",
    "destination dest dst target output",
    "target dest goal",
    "configuration config setup settings",
    "description desc doc text",
    "implementation impl",
    "specification spec",
    "maximum limit max",
    "exclusive except other",
    "parallel par concurrent",
    "public pub",
    "private priv internal",
    "little le small",
    "temporary transient",
    "graph tree network",
    "color colour rgb",
    "window win view frame",
    "button btn",
    "length len",
    "degree deg angle",
    "neighbor neighbour adjacent",
    "section part segment block portion",
    "chunk piece part block",
    "group cluster bucket",
    "key label name",
    "permutation perm shuffle",
];
