"""Django through mssql-django: migrations made and applied twice, and what a model's manager sends."""

import datetime
import decimal
import sys
import uuid
from pathlib import Path

import common
from common import WORK, equal

common.configure_odbc()

import django  # noqa: E402
from django.conf import settings  # noqa: E402

DATABASE = "library_django"
APP = Path(WORK["folder"]) / "django-app"

MODELS = '''
import uuid
from django.db import models


class Maker(models.Model):
    name = models.CharField(max_length=80, unique=True)
    country = models.CharField(max_length=2, null=True)


class Tag(models.Model):
    word = models.CharField(max_length=30, primary_key=True)


class Item(models.Model):
    maker = models.ForeignKey(Maker, on_delete=models.CASCADE, related_name="items")
    tags = models.ManyToManyField(Tag)
    key = models.UUIDField(default=uuid.uuid4, unique=True)
    title = models.CharField(max_length=100, db_index=True)
    price = models.DecimalField(max_digits=10, decimal_places=2)
    stock = models.IntegerField(default=0)
    active = models.BooleanField(default=True)
    made = models.DateTimeField()
    extra = models.JSONField(default=dict)
    blob = models.BinaryField(default=b"")
    took = models.DurationField(null=True)

    class Meta:
        indexes = [models.Index(fields=["maker", "-price"], name="item_by_price")]
        constraints = [models.CheckConstraint(condition=models.Q(price__gte=0), name="price_is_not_negative")]
'''

CHANGED = (
    MODELS.replace("stock = models.IntegerField(default=0)", "stock = models.BigIntegerField(default=5)")
    .replace("title = models.CharField(max_length=100, db_index=True)", "title = models.CharField(max_length=200)")
    .replace("country = models.CharField(max_length=2, null=True)", 'country = models.CharField(max_length=3, default="?")')
    .replace("took = models.DurationField(null=True)", 'took = models.DurationField(null=True)\n    note = models.TextField(default="none")')
    .replace(
        'name="item_by_price")]',
        'name="item_by_price"), models.Index(fields=["title"], name="active_title", condition=models.Q(active=True))]',
    )
)


def configure():
    package = APP / "shop"
    (package / "migrations").mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "migrations/__init__.py").write_text("")
    for old in (package / "migrations").glob("0*.py"):
        old.unlink()
    (package / "models.py").write_text(MODELS if "changed" not in sys.argv else CHANGED)
    sys.path.insert(0, str(APP))
    options = {"driver": common.DRIVER, "extra_params": "TrustServerCertificate=yes", "return_rows_bulk_insert": True}
    database = {"ENGINE": "mssql", "NAME": DATABASE, "USER": WORK["user"], "PASSWORD": WORK["password"]}
    database |= {"HOST": WORK["host"], "PORT": str(WORK["port"]), "OPTIONS": options}
    settings.configure(
        DATABASES={"default": database},
        INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "shop"],
        SECRET_KEY="of a test",
        USE_TZ=False,
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    )
    django.setup()


def command(*words, **options):
    from django.core.management import call_command

    call_command(*words, verbosity=0, **options)


def load(text):
    """Puts another text in the place of the app's models, as an edit and a restart would."""
    from django.apps import apps

    (APP / "shop/models.py").write_text(text)
    for registered in list(apps.all_models["shop"]):
        del apps.all_models["shop"][registered]
    for name in [name for name in sys.modules if name.startswith("shop.")]:
        del sys.modules[name]
    apps.clear_cache()
    config = apps.get_app_config("shop")
    config.import_models()
    apps.clear_cache()


def models():
    import shop.models

    return shop.models


def no_changes_left():
    """makemigrations --check ends the program where a model differs from its migrations."""
    try:
        command("makemigrations", "shop", check=True, dry_run=True)
    except SystemExit as ended:
        raise common.Failed(f"makemigrations --check ended with {ended.code}") from ended


# ---- checks ----------------------------------------------------------------------------------


def migrate():
    common.new_database(DATABASE)
    command("makemigrations", "shop", name="first")
    command("migrate")
    no_changes_left()


def create_and_read():
    shop = models()
    makers = [shop.Maker.objects.create(name=name, country=None) for name in ("Ada", "Böll", "Çelik")]
    equal([m.pk for m in makers], [1, 2, 3], "keys")
    tags = shop.Tag.objects.bulk_create([shop.Tag(word=word) for word in ("red", "new", "日本")])
    day = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
    items = [
        shop.Item(maker=makers[n % 3], title=f"item {n}", price=decimal.Decimal(n) / 4, stock=n, made=day + datetime.timedelta(days=n))
        for n in range(30)
    ]
    made = shop.Item.objects.bulk_create(items)
    equal([i.pk for i in made], list(range(1, 31)), "keys of bulk_create")
    made[0].tags.set(tags)
    made[1].tags.add(tags[2])
    key = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
    item = shop.Item.objects.create(
        maker=makers[0], title="whole", price="1.50", made=day, key=key, extra={"a": [1, "é"], "b": {"c": None}},
        blob=b"\x00\xff", took=datetime.timedelta(days=1, seconds=2, microseconds=3),
    )
    found = shop.Item.objects.get(pk=item.pk)
    got = (found.key, found.extra, bytes(found.blob), found.took, found.price, found.made, found.active)
    want = (key, {"a": [1, "é"], "b": {"c": None}}, b"\x00\xff", datetime.timedelta(days=1, seconds=2, microseconds=3))
    equal(got, (*want, decimal.Decimal("1.50"), day, True), "all fields")
    found.delete()


def filters():
    from django.db.models import Q

    objects = models().Item.objects
    equal(objects.filter(title__icontains="ITEM 1").count(), 11, "icontains")
    equal(objects.filter(title__startswith="item 2").count(), 11, "startswith")
    equal(objects.filter(Q(stock__lt=3) | Q(stock__in=[28, 29])).exclude(active=False).count(), 5, "Q")
    equal(list(objects.filter(maker__name="Ada").order_by("-price").values_list("stock", flat=True)[2:5]), [21, 18, 15], "a slice")
    equal(objects.filter(made__year=2024, made__month=3).count(), 29, "made__month")
    equal(objects.filter(tags__word="日本").distinct().count(), 2, "through a many-to-many")
    equal(objects.filter(price__range=("1", "2")).count(), 5, "range")
    equal(objects.filter(extra__a__isnull=True).count(), 30, "a key of JSON")
    equal(objects.select_related("maker").prefetch_related("tags").get(title="item 0").tags.count(), 3, "prefetch")
    equal([bool(objects.filter(stock=n).exists()) for n in (3, 99)], [True, False], "exists")


def aggregates():
    from django.db.models import Avg, Case, Count, Exists, F, Max, OuterRef, StdDev, Subquery, Sum, Value, When, Window
    from django.db.models.functions import Coalesce, Concat, Length, RowNumber, TruncMonth, Upper

    shop = models()
    objects = shop.Item.objects
    totals = objects.aggregate(n=Count("id"), most=Max("price"), sum=Sum("price"), mean=Avg("stock"), some=Count("maker", distinct=True))
    equal(totals, {"n": 30, "most": decimal.Decimal("7.25"), "sum": decimal.Decimal("108.75"), "mean": 14.5, "some": 3}, "aggregate")
    by_maker = shop.Maker.objects.annotate(n=Count("items"), worth=Sum(F("items__price") * F("items__stock"))).order_by("name")
    equal([(m.name, m.n) for m in by_maker], [("Ada", 10), ("Böll", 10), ("Çelik", 10)], "annotate")
    months = objects.annotate(month=TruncMonth("made")).values("month").annotate(n=Count("id")).order_by("month")
    equal([m["n"] for m in months], [1, 29], "TruncMonth")
    ranked = objects.annotate(rank=Window(RowNumber(), partition_by="maker", order_by=F("price").desc())).filter(rank=1)
    equal(sorted(i.stock for i in ranked), [27, 28, 29], "a filter over a window")
    newest = objects.filter(maker=OuterRef("pk")).order_by("-stock").values("title")[:1]
    named = shop.Maker.objects.annotate(last=Subquery(newest), any=Exists(objects.filter(maker=OuterRef("pk"), stock=29)))
    equal([(m.last, m.any) for m in named.order_by("pk")], [("item 27", False), ("item 28", False), ("item 29", True)], "Subquery")
    sized = objects.annotate(size=Case(When(stock__gte=20, then=Value("many")), default=Value("few")))
    equal(sized.filter(size="many").count(), 10, "Case")
    text = objects.annotate(whole=Concat(Upper("title"), Value("!")), n=Length("title")).get(stock=7)
    equal((text.whole, text.n), ("ITEM 7!", 6), "functions")
    equal(round(objects.aggregate(d=Coalesce(StdDev("stock"), Value(0.0)))["d"], 6), 8.655441, "StdDev")
    equal(objects.values("maker").annotate(n=Count("id")).filter(n__gt=9).count(), 3, "HAVING")
    both = objects.filter(stock=1).values("title").union(objects.filter(stock=2).values("title")).order_by("title")
    equal([row["title"] for row in both], ["item 1", "item 2"], "union")


def changes():
    from django.db import IntegrityError, transaction
    from django.db.models import F

    shop = models()
    objects = shop.Item.objects
    equal(objects.filter(stock__lt=10).update(price=F("price") + 1), 10, "rows of update()")
    some = list(objects.filter(stock__gte=28))
    for item in some:
        item.title = f"changed {item.stock}"
    equal(objects.bulk_update(some, ["title"]), 2, "bulk_update")
    maker, made = shop.Maker.objects.update_or_create(name="Ada", defaults={"country": "SE"})
    equal((maker.country, made), ("SE", False), "update_or_create")
    equal(shop.Maker.objects.get_or_create(name="Dix")[1], True, "get_or_create")
    with transaction.atomic():
        held = objects.select_for_update().get(stock=3)
        held.stock += 100
        held.save(update_fields=["stock"])
        try:
            with transaction.atomic():
                shop.Maker.objects.create(name="Ada")
            raise common.Failed("a second Ada was taken")
        except IntegrityError as error:
            if "2627" not in str(error) and "2601" not in str(error):
                raise common.Failed(f"not the error of a duplicate key: {error}") from error
    equal(objects.filter(stock=103).count(), 1, "what a rolled back savepoint left")
    try:
        objects.create(maker=maker, title="x", price=-1, made=datetime.datetime(2024, 1, 1))
        raise common.Failed("a negative price was taken")
    except IntegrityError as error:
        equal("price_is_not_negative" in str(error), True, f"the constraint's name in {error}")
    deleted, _ = shop.Maker.objects.filter(name="Böll").delete()
    equal(deleted, 12, "rows deleted by cascade")


def users_and_sessions():
    from django.contrib.auth.models import Group, Permission, User
    from django.contrib.sessions.backends.db import SessionStore

    user = User.objects.create_user("ada", "ada@example.org", "secret")
    user.user_permissions.add(Permission.objects.get(codename="add_item"))
    user.groups.add(Group.objects.create(name="staff"))
    equal(User.objects.get(username="ADA").has_perm("shop.add_item"), True, "a permission, by a name in another case")
    session = SessionStore()
    session["cart"] = [1, 2]
    session.save()
    equal(SessionStore(session.session_key)["cart"], [1, 2], "a session")


def migrate_again():
    load(CHANGED)
    command("makemigrations", "shop", name="second")
    command("migrate")
    no_changes_left()
    item = models().Item.objects.get(title="item 0")
    equal((item.note, item.stock), ("none", 0), "a row of before")


def inspect():
    import io

    out = io.StringIO()
    command("inspectdb", "shop_item", stdout=out)
    text = out.getvalue()
    for line in ("price = models.DecimalField(max_digits=10, decimal_places=2)", "stock = models.BigIntegerField()", "maker = models.ForeignKey("):
        equal(line in text, True, f"{line} in inspectdb's {text}")


def migrate_back():
    command("migrate", "shop", "0001")
    command("migrate", "shop", "zero")
    from django.db import connection

    left = [name for name in connection.introspection.table_names() if name.startswith("shop_")]
    equal(left, [], "tables left")


if __name__ == "__main__":
    configure()
    common.main([migrate, create_and_read, filters, aggregates, changes, users_and_sessions, migrate_again, inspect, migrate_back])
