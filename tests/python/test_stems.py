"""Stems of words, against the Python port of Snowball."""

import pickle
import random

import pytest
from margrove import FlatSVC, TextFeatures
from margrove.datasets import load_animals
from sklearn.base import clone

snowballstemmer = pytest.importorskip("snowballstemmer")

# A sentence of each language; words are also made of its letters and the ends of its words.
TEXTS = {
    "arabic": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق وقد وهبوا عقلا وضميرا",
    "armenian": "Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով",
    "basque": "Gizon emakume guztiak aske jaiotzen dira duintasun eta eskubide berberak",
    "catalan": "Tots els éssers humans neixen lliures i iguals en dignitat i en drets",
    "danish": "Alle mennesker er født frie og lige i værdighed og rettigheder, samvittigheden",
    "dutch": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren, begiftigd",
    "english": "All human beings are born free and equal in dignity, generously running, yes",
    "finnish": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan",
    "french": "Tous les êtres humains naissent libres et égaux en dignité et en droits, doués",
    "german": "Alle Menschen sind frei und gleich an Würde und Rechten geboren, Häuser, Straßen",
    "greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα",
    "hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता",
    "hungarian": "Minden emberi lény szabadon születik és egyenlő méltósága és joga van",
    "indonesian": "Semua orang dilahirkan merdeka dan mempunyai martabat dan kebebasannya yang",
    "irish": "Saolaítear na daoine uile saor agus comhionann ina ndínit agus ina gcearta",
    "italian": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti",
    "lithuanian": "Visi žmonės gimsta laisvi ir lygūs savo orumu ir teisėmis, jiems suteiktas",
    "nepali": "सबै व्यक्तिहरू जन्मजात स्वतन्त्र हुन् ती सबैको समान अधिकार र महत्व छ, केटाहरूले",
    "norwegian": "Alle mennesker er født frie og med samme menneskeverd og menneskerettigheter",
    "porter": "All human beings are born free and equal in dignity, generously running, yes",
    "portuguese": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos",
    "romanian": "Toate ființele umane se nasc libere și egale în demnitate și în drepturi",
    "russian": "Все люди рождаются свободными и равными в своём достоинстве и правах, ёлками",
    "serbian": "Sva ljudska bića rađaju se slobodna i jednaka u dostojanstvu; права људска, ђаци",
    "spanish": "Todos los seres humanos nacen libres e iguales en dignidad y derechos",
    "swedish": "Alla människor är födda fria och lika i värde och rättigheter, utrustade",
    "tamil": "மனிதப் பிறிவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர் அவர்கள் மதிப்பிலும்",
    "turkish": "Bütün insanlar hür haysiyet ve haklar bakımından eşit doğarlar",
    "yiddish": "יעדער מענטש ווערט געבוירן פרײַ און גלײַך אין כּבוד און רעכט, געשריבענע",
}


def words_of(text: str) -> list[str]:
    features = TextFeatures(word_ngrams="1", char_ngrams="none").fit([text])
    return [str(word) for word in features.get_feature_names_out()]


def random_text(language: str) -> str:
    """Words of the sentence and words made of parts of these."""
    words = words_of(TEXTS[language])
    source = random.Random(language)
    made = []
    for _ in range(400):
        first, second = source.choice(words), source.choice(words)
        made.append(first[: source.randint(1, len(first))] + second[-source.randint(1, 5) :])
    return " ".join(words + made)


def test_all_languages_are_tried() -> None:
    with pytest.raises(ValueError, match=r"option stem is 'all', but must be none or one of ") as e:
        TextFeatures(stem="all").fit(["a"])
    listed = str(e.value).split(" one of ")[1].split(";")[0].split(", ")
    assert set(TEXTS) <= set(listed)


@pytest.mark.parametrize("language", TEXTS)
def test_stems_equal_those_of_the_port(language: str) -> None:
    text = random_text(language)
    reference = snowballstemmer.stemmer(language)
    expected = {reference.stemWord(word) or word for word in words_of(text)}
    terms = TextFeatures(stem=language, word_ngrams="1", char_ngrams="none").fit([text])
    found = terms.get_feature_names_out()
    assert set(found) == expected


def test_stop_words_and_characters_are_of_words_as_written() -> None:
    features = TextFeatures(
        stem="english", char_ngrams="6", stop_words=["being"], min_ngram_frequency=1
    )
    features.fit(["being houses", "hous"])
    assert list(features.get_feature_names_out()) == [
        "' hous '", "' house'", "'houses'", "'ouses '", "hous"
    ]  # fmt: skip


def test_models_and_copies_keep_the_language(tmp_path: object) -> None:
    animals = load_animals()
    features = TextFeatures(stem="english")
    assert clone(features).stem == "english"
    fitted = features.fit(animals.data)
    again = pickle.loads(pickle.dumps(fitted))
    assert abs(fitted.transform(animals.data) - again.transform(animals.data)).max() == 0
    model = FlatSVC(text_features=features).fit(animals.data, animals.target)
    plain = FlatSVC().fit(animals.data, animals.target)
    model.save(f"{tmp_path}/model")
    read = FlatSVC.load(f"{tmp_path}/model")
    assert list(read.predict(animals.data)) == list(model.predict(animals.data))
    assert len(model.model_.vocabulary) < len(plain.model_.vocabulary)
    with pytest.raises(ValueError, match=r"did you mean 'english'\?"):
        TextFeatures(stem="englsh").fit(["a"])
