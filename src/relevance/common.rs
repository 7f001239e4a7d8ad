//! Words that say nothing about what is asked, in several languages.
//!
//! A question made of these alone ("yes", "go on") is none to judge by. There are few: how rare a
//! word is among the texts tells most of it.

use std::sync::LazyLock;

use hashbrown::HashSet;

const ENGLISH: &str = "a about again ago all also am an and any are aren as at back be been being \
    but by can cannot could couldn did didn do does doesn doing don done else even ever for from \
    get give go going good got great had hadn has hasn have haven having he hello her here hers hey \
    hi him his how i if in into is isn it its just keep know let like ll look looks make may maybe \
    me might mine more most much must my need nice no nope not now of off ok okay on once one only \
    or other our ours out over perfect please proceed re really remind right said same say see she \
    should shouldn show so some sound sounds still sure tell than thank thanks that the their \
    theirs them then there these they thing think this those though to too try um up us ve very \
    want was wasn we well were weren what when where which while who whom whose why will with won \
    would wouldn yeah yep yes yet you your yours continue s t d m";
const GERMAN: &str = "aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis \
    bist bitte da damit danke dann das dass dein deine dem den denn der des dich die dies diese \
    diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwa \
    etwas euch euer für gab genau gerne gibt gut haben habe hab hat hatte hatten hier hallo ich ihm \
    ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jetzt kann kein keine keinen klar können \
    mach machen machst mal man mehr mein meine mich mir mit mach nach nein nicht noch nochmal nun \
    nur ob oder okay schon sehr sein seine seinem seinen seiner sich sie sind so sollte soll über \
    um und uns unser unsere vom von vor war waren warum was weiter welche welchem welchen welcher \
    welches wenn wer werden wem wen wie wieder wir wird wo wurde wurden zu zum zur";
const FRENCH: &str = "a ai alors après as au aux avec avez avoir avons bien bon bonjour c ce ceci cela \
    ces cet cette comme comment d dans de des donc du elle elles en encore es est et été étaient \
    était être eu fait il ils j je l la le les leur leurs lui là ma mais me merci mes moi mon même n \
    ne nos notre nous non on ont ou où oui par pas plus pour pourquoi qu quand que quel quelle \
    quelles quels qui s sa se ses si son sont sur t ta te tes toi ton tous tout très tu un une va \
    vas vos votre vous y";
const SPANISH: &str = "a al algo aquí así bien bueno como cómo con cual cuál cuáles cuando cuándo de del \
    donde dónde el él ella ellas ellos en entonces era eran eres es esa ese eso esta está estaba \
    estas este esto estos fue fueron gracias ha había han hasta hay he hola la las le les lo los más \
    me mi mis mucho muy nada ni no nos nosotros o os otra otro para pero por porque qué que quién se \
    sea ser si sí sigue sin sobre son su sus también te tiene todo tu tus un una uno unos vale y ya yo";
const ITALIAN: &str = "a ad ai al alla alle allo anche avanti bene c che chi ci ciao come con cosa cui \
    da dal dalla dei del della delle di dov dove e è ed era erano fatto gli grazie ha hai hanno ho i \
    il in io l la le lei lo loro lui ma me mi mia mio molto ne nei nel nella no noi non o ogni per \
    perché però più poi qual quale quali quando questa queste questi questo qui se sei si sì sia sono \
    sta su sua sue sul sulla suo ti tu tuo un una uno va vai vi voi";
const PORTUGUESE: &str = "a agora ainda ao aos as até bem com como continue da das de dela dele do dos e \
    é ela elas ele eles em entre era eram essa esse está este eu foi foram há isso isto já lhe mais \
    mas me mesmo meu minha muito na não nas nem no nos nós o obrigada obrigado oi olá onde os ou para \
    pela pelo por porque qual quais quando que quem são se sem ser seu sim sobre sua também te tem \
    teve tudo um uma você";
const DUTCH: &str = "aan al als alles ben bent bij dan dank dat de deze die dit doe door een en er ga \
    geen goed graag haar had heb hebben heeft hem het hier hij hoe hun ik in is ja je jij jullie kan \
    kon kunnen maar me meer men met mijn moet na naar nee niet nog nu of om omdat ons onze ook op \
    over prima te toen tot u uit van veel verder voor waar waarom was wat we wel welk welke werd wie \
    wij wil worden wordt zal ze zij zijn zo zou";

static COMMON: LazyLock<HashSet<&'static str, foldhash::fast::FixedState>> = LazyLock::new(|| {
    let lists = [ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH];
    lists.iter().flat_map(|list| list.split_ascii_whitespace()).collect()
});

/// Whether a word in lower case is one of them.
pub(super) fn is_common(word: &str) -> bool {
    COMMON.contains(word)
}
