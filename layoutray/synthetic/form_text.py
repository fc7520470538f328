"""Invented texts of forms: titles, labels of entries, what is filled in, and sentences that are neither."""

from random import Random

from layoutray.synthetic.bills import any_day
from layoutray.synthetic.country import countries
from layoutray.synthetic.wordings import data

US = countries()["US"]


def listed(text: str) -> tuple[str, ...]:
    """The parts of a list with commas."""
    return tuple(text.split(", "))


_SUBJECTS = listed(
    "account, agent, analysis, applicant, approval, area, article, batch, brand, branch, budget, building, "
    "campaign, carrier, category, client, code, compound, contact, contract, cost, coupon, customer, delivery, "
    "department, design, device, distribution, division, document, dose, driver, employee, equipment, event, "
    "expense, facility, field, file, grade, group, import, inspection, item, job, laboratory, license, location, "
    "machine, manager, market, material, media, member, method, model, office, operator, order, owner, package, "
    "patient, payment, permit, plan, plant, policy, position, price, product, program, project, promotion, "
    "protocol, purchase, quality, region, registration, release, report, request, research, retail, return, review, "
    "route, sales, sample, section, sender, sequence, service, shipment, site, source, specification, sponsor, "
    "state, stock, store, study, subject, supplier, survey, system, task, tax, team, territory, test, title, topic, "
    "training, transfer, unit, vehicle, vendor, volume, weight"
)
_ASPECTS = listed(
    "address, amount, approved by, authorized, balance, city, classification, comments, completed, count, date, "
    "description, details, due, duration, effective, estimate, expires, frequency, from, identification, initials, "
    "instructions, length, level, limit, name, no., number, objective, other, percent, period, phone, prepared by, "
    "priority, purpose, quantity, range, rate, reason, received, reference, requested by, required, results, "
    "schedule, signature, size, start, status, supervisor, telephone, terms, time, total, type, value, year"
)
_SINGLE = listed(
    "To, From, Date, Subject, Re, cc, Fax, Phone, Name, Title, Address, City, State, Zip, Company, Attention, "
    "Pages, Comments, Remarks, Signature, Quantity, Price, Total, Amount, Brand, Region, Account, Division, "
    "Approved, Yes, No, Cost, Type, Code, Period, Other, Age, Sex, Male, Female, Source, Status, Notes, "
    "Description, Purpose, By, Time"
)
_TITLES = listed(
    "application, authorization, agreement, certificate, checklist, confirmation, cover sheet, evaluation, form, "
    "inventory, invoice, memorandum, notice, order, plan, profile, proposal, questionnaire, record, report, "
    "request, schedule, statement, summary, transmittal"
)
_VERBS = listed(
    "will be held, has been received, should be completed, must be returned, is required, was approved, may be "
    "used, are included, were tested, is attached, is to be shipped, will be reviewed, has increased, was "
    "discontinued"
)
_ASKING = listed(
    "What is the, Please state the, Describe the, Has the, Will the, If applicable give the, Enter the, List each, "
    "Is there a, Number of, Please attach the, Explain any change of the, Name and address of the, Check the"
)
_ARTICLES = listed("The, A, All, Each, Your, Our, This, No, Any")
_LINKS = listed("for the, with the, by the, of the, in the, before the, after the, under the, without the, and the")


def title(random: Random) -> str:
    """The title of a form or of a section."""
    return " ".join([*random.sample(_SUBJECTS, random.randint(1, 2)), random.choice(_TITLES)])


def label(random: Random) -> str:
    """What is printed at an entry: mostly a name of what is to be filled in, sometimes a question or an instruction."""
    kind = random.random()
    if kind < 0.35:
        return random.choice(_SINGLE)
    if kind < 0.45:
        return f"{random.choice(_ASKING)} {random.choice(_SUBJECTS)} {random.choice(_ASPECTS)} {_circumstance(random)}"
    if kind < 0.8:
        return f"{random.choice(_SUBJECTS)} {random.choice(_ASPECTS)}"
    return f"{random.choice(_SUBJECTS)} {_circumstance(random)} {random.choice(_ASPECTS)}"


def short_answer(random: Random) -> str:
    """A number, code, date or mark, as it stands in a table."""
    number = random.randrange(10 ** random.randint(1, 6))
    return random.choice(
        (
            str(number),
            f"{number:,}",
            f"{number / 100:,.2f}",
            f"${number:,}",
            f"{random.randrange(100)}%",
            f"{random.choice('ABCDEFGHKLMNPRSTX')}{number}",
            f"{random.randrange(10, 99)}-{number}",
            US.written(any_day(random), random.choice(US.dates)),
            random.choice(("X", "X", "x", "-", "N/A", "None", "Yes", "No", "OK")),
        )
    )


def answer(random: Random) -> str:
    """What is filled in at an entry, as one line."""
    if random.random() < 0.12:
        return " ".join(sentence(random) for _ in range(random.randint(1, 3)))
    return random.choice((short_answer, short_answer, US.person, US.company, _address_line, _phrase))(random)


def sentence(random: Random) -> str:
    """A sentence that is neither label nor answer."""
    return (
        f"{random.choice(_ARTICLES)} {random.choice(_SUBJECTS)} {random.choice(_ASPECTS)} {random.choice(_VERBS)} "
        f"{_circumstance(random)} {random.choice(_TITLES)}."
    )


def _circumstance(random: Random) -> str:
    return f"{random.choice(_LINKS)} {random.choice(_SUBJECTS)}"


def _address_line(random: Random) -> str:
    return ", ".join(US.address(random))


def _phrase(random: Random) -> str:
    words = [random.choice((*_SUBJECTS, *_ASPECTS)) for _ in range(random.randint(1, 5))]
    return random.choice(
        (
            " ".join(words),
            random.choice(data("phrases")["en"]["goods"]),
            " ".join(words).title(),
            " ".join(words).upper(),
        )
    )
