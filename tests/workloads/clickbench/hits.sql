-- Makes rows like those of ClickBench's table `hits`, with DuckDB: $ROWS and $SEED are replaced. Every value is a hash of
-- the row, of its user or of its page, so the same seed and version of DuckDB make the same rows. What matters of
-- the original is its skew: few users and pages have many rows, SearchPhrase is empty in seven rows of eight, AdvEngineID
-- is 0 in all but one of 160, a word such as "google" is in one URL of some thousands. The texts are ASCII.
CREATE MACRO below(key, salt, n) AS CAST(hash(key, salt, $SEED) % n AS INTEGER);
CREATE MACRO share(key, salt) AS CAST(hash(key, salt, $SEED) >> 11 AS DOUBLE) / 9007199254740992.0;
-- A rank below n: the higher the power, the more often a low one.
CREATE MACRO ranked(key, salt, n, power) AS CAST(floor(n * pow(share(key, salt), power)) AS INTEGER);
CREATE MACRO word(key, salt) AS ['auto', 'music', 'video', 'film', 'online', 'price', 'photo', 'house', 'market', 'forum',
    'weather', 'travel', 'games', 'football', 'recipe', 'school', 'garden', 'engine', 'doctor', 'cheap', 'rent', 'ticket',
    'novosti', 'kupit', 'skachat', 'smotret', 'besplatno', 'moskva', 'kiev', 'krasnodar', 'avtomobil', 'kvartira',
    'pogoda', 'rabota', 'otzyvy', 'foto', 'karta', 'dom', 'gorod', 'shkola', 'remont', 'mebel', 'odezhda', 'obuv',
    'telefon', 'noutbuk', 'bilety', 'kino', 'serial', 'igry', 'detskie', 'zhenskie', 'muzhskie', 'svadba', 'platya',
    'stroitelstvo', 'sad', 'dacha', 'zdorove', 'krasota', 'znakomstva', 'gadanie', 'goroskop', 'sonnik'][below(key, salt, 64) + 1];
CREATE MACRO words(key, salt) AS word(key, salt || 'a') || ' ' || word(key, salt || 'b')
    || CASE WHEN share(key, salt) < 0.7 THEN ' ' || word(key, salt || 'c') ELSE '' END
    || CASE WHEN share(key, salt) < 0.4 THEN ' ' || word(key, salt || 'd') || ' ' || word(key, salt || 'e') ELSE '' END;
CREATE MACRO host(page) AS ranked(page, 'host', 3000, 3);
CREATE MACRO host_name(host) AS CASE WHEN share(host, 'www') < 0.3 THEN 'www.' ELSE '' END
    || word(host, 'name') || '-' || word(host, 'name2') || host || CASE WHEN below(host, 'top', 4) = 0 THEN '.com' ELSE '.ru' END;
CREATE MACRO url(page) AS CASE WHEN below(page, 'secure', 20) = 0 THEN 'https://' ELSE 'http://' END || host_name(host(page))
    || '/' || CASE WHEN page < 40 THEN '' ELSE word(page, 'folder') || '/' || word(page, 'leaf') || '-' || page
    || CASE below(page, 'kind', 3) WHEN 0 THEN '.html' WHEN 1 THEN '/' ELSE '?id=' || below(page, 'id', 100000000)
    || '&category=' || word(page, 'category') || '&sort=' || word(page, 'sort') || '&page=' || below(page, 'number', 30) END END
    || CASE WHEN below(page, 'google', 4000) = 7 THEN '?from=google' ELSE '' END;
CREATE MACRO title(page) AS CASE WHEN below(page, 'untitled', 10) = 0 THEN '' ELSE words(page, 'title1') || ' - '
    || words(page, 'title2') || CASE WHEN below(page, 'titled', 900) = 3 THEN ' Google' ELSE '' END
    || CASE WHEN share(page, 'long') < 0.5 THEN ' | ' || words(page, 'title3') || ' ' || words(page, 'title4') ELSE '' END
    || ' (' || host_name(host(page)) || ')' END;

CREATE TEMP TABLE base AS
SELECT i, ranked(i, 'user', 0.4 * $ROWS, 2.5) AS person, ranked(i, 'page', 0.6 * $ROWS, 3) AS page,
    CASE WHEN share(i, 'searched') < 0.13 THEN ranked(i, 'phrase', 0.15 * $ROWS, 2.5) ELSE -1 END AS phrase,
    share(i, 'referer') AS referred, ranked(i, 'from', 0.6 * $ROWS, 3) AS source,
    TIMESTAMP '2013-07-01' + to_seconds(86400 * below(i, 'day', 31)
        + CAST(floor(86400 * (0.3 + 0.7 * share(i, 'a')) * (0.4 + 0.6 * share(i, 'b'))) AS INTEGER)) AS moment
FROM range($ROWS) AS t(i);

CREATE TEMP TABLE linked AS
SELECT *, url(page) AS url, below(person, 'mobile', 20) = 0 AS mobile,
    CASE WHEN phrase >= 0 THEN 'http://' || ['yandex.ru/yandsearch?text=', 'www.google.ru/search?q=', 'go.mail.ru/search?q=',
        'nova.rambler.ru/search?query='][ranked(i, 'engine', 4, 2) + 1] || replace(words(phrase, 'phrase'), ' ', '+') || '&lr=' || phrase
    WHEN referred < 0.22 THEN '' WHEN referred < 0.3 THEN 'http://' || host_name(host(page)) || '/'
    ELSE url(source) END AS referer
FROM base;

CREATE TABLE made AS
SELECT CAST(hash(i, 'watch', $SEED) >> 1 AS BIGINT), below(person, 'java', 10) > 1, title(page), 1, moment, CAST(moment AS DATE),
    CASE WHEN host(page) = 0 THEN 62 ELSE 100 + 7 * host(page) END,
    CAST(CAST(hash(person, CASE WHEN share(i, 'ip') < 0.9 THEN 0 ELSE i % 4 END, $SEED) % 4294967296 AS BIGINT) - 2147483648 AS INTEGER),
    1 + ranked(person, 'region', 9000, 4),
    CASE WHEN person = 20000 THEN 435090932899640449 ELSE CAST(hash(person, 'user', $SEED) >> 1 AS BIGINT) END,
    below(page, 'class', 3), CASE WHEN mobile THEN 100 ELSE 0 END + ranked(person, 'os', 50, 3), ranked(person, 'agent', 80, 3),
    url, referer, CASE WHEN share(i, 'refresh') < 0.13 THEN 1 ELSE 0 END, 0, ranked(source, 'region', 9000, 4), below(page, 'category', 500) * 7,
    ranked(page, 'region', 9000, 4), [1024, 1280, 1366, 1440, 1600, 1680, 1920, 800, 320, 2560][ranked(person, 'width', 10, 1.5) + 1],
    [768, 800, 900, 1024, 1050, 1080, 600, 480][ranked(person, 'height', 8, 1.5) + 1], 24, 11, below(person, 'flash', 8),
    CASE WHEN share(person, 'minor') < 0.4 THEN '' ELSE '7.' || below(person, 'minor', 700) END, 0, 0, below(person, 'major', 30),
    ['D8', 'uB', '0', 'QT', 'x)', 'd3'][ranked(person, 'agent minor', 6, 2) + 1], 1, 1, CAST(mobile AS INTEGER),
    CASE WHEN mobile THEN 1 + ranked(person, 'phone', 40, 2) ELSE 0 END,
    CASE WHEN mobile AND share(person, 'model') < 0.9 THEN ['iPad', 'iPhone', 'Galaxy', 'Lumia', 'Desire', 'One', 'Xperia', 'A500', '3110',
        'N95', 'Optimus', 'Nexus', 'Note', 'Tab', 'W150'][ranked(person, 'model', 15, 2) + 1] || CASE below(person, 'series', 4) WHEN 0 THEN '' ELSE
        ' ' || ranked(person, 'series number', 12, 2) END ELSE '' END,
    CASE WHEN share(page, 'parameters') < 0.02 THEN '{"section":"' || word(page, 'section') || '"}' ELSE '' END, 1000000 + ranked(person, 'network', 500000, 3),
    [-1, 0, 1, 2, 3, 5, 6, 7][CASE WHEN phrase >= 0 THEN 4 ELSE 1 + ranked(i, 'source', 8, 1.5) END],
    CASE WHEN phrase >= 0 THEN 2 + ranked(i, 'engine', 4, 2) ELSE 0 END, CASE WHEN phrase >= 0 THEN words(phrase, 'phrase')
        || CASE WHEN phrase % 3 = 0 THEN ' ' || phrase ELSE '' END ELSE '' END,
    CASE WHEN share(i, 'advertised') < 0.0063 THEN 2 + ranked(i, 'advertiser', 20, 3) ELSE 0 END, 0,
    CAST(200 + 1500 * share(person, 'client width') + below(i, 'frame', 20) AS INTEGER), CAST(200 + 700 * share(person, 'client height') AS INTEGER),
    [-1, 135, 4, 3, 6][1 + ranked(person, 'zone', 5, 2)], moment + to_seconds(below(i, 'skew', 7200)),
    CASE WHEN share(person, 'silverlight') < 0.3 THEN 5 ELSE 0 END, 0, CASE WHEN share(person, 'silverlight') < 0.3 THEN 60531 ELSE 0 END, 0,
    ['windows-1251;charset', 'utf-8', ''][1 + ranked(page, 'charset', 3, 2)], 1 + ranked(page, 'version', 1600, 4),
    CASE WHEN share(i, 'link') < 0.12 THEN 1 ELSE 0 END, CASE WHEN share(i, 'download') < 0.01 THEN 1 ELSE 0 END,
    CASE WHEN share(i, 'stays') < 0.2 THEN 1 ELSE 0 END, CAST(hash(person, 'first', $SEED) >> 2 AS BIGINT),
    CASE WHEN share(i, 'original') < 0.15 THEN url ELSE '' END, CAST(hash(i, 'hit', $SEED) % 1000000000 AS INTEGER), 0, 0, 0,
    CASE WHEN share(i, 'uncounted') < 0.05 THEN 1 ELSE 0 END, 0, ['5', 'E', 'g', 'F', 'S'][1 + below(i, 'color', 5)],
    moment + to_hours(below(person, 'zone', 12)), [0, 0, 22, 31, 39, 50][1 + below(person, 'age', 6)], below(person, 'sex', 3),
    below(person, 'income', 4), below(person, 'interests', 30000), below(person, 'robot', 60),
    CAST(CAST(hash(person, 'remote', $SEED) % 4294967296 AS BIGINT) - 2147483648 AS INTEGER),
    CASE WHEN share(i, 'window') < 0.1 THEN below(i, 'window name', 2000000000) ELSE -1 END, -1,
    CASE WHEN share(i, 'history') < 0.1 THEN below(i, 'length', 50) ELSE -1 END,
    ['ru', 'uk', 'en', 'tr', 'be', 'kk', 'de'][1 + ranked(person, 'language', 7, 3)], ['ru', 'ua', 'us', 'tr', 'by', 'kz', 'de', 'il'][1 + ranked(person, 'country', 8, 3)],
    '', '', 0, CASE WHEN share(i, 'timed') < 0.3 THEN below(i, 'send', 300) ELSE 0 END,
    CASE WHEN share(i, 'timed') < 0.3 THEN below(i, 'dns', 100) ELSE 0 END, CASE WHEN share(i, 'timed') < 0.3 THEN below(i, 'connect', 200) ELSE 0 END,
    CASE WHEN share(i, 'timed') < 0.3 THEN below(i, 'start', 1500) ELSE 0 END, CASE WHEN share(i, 'timed') < 0.3 THEN below(i, 'end', 3000) ELSE 0 END,
    CASE WHEN share(i, 'timed') < 0.3 THEN below(i, 'fetch', 4000) ELSE 0 END, 0, '', -1, '', 'NH' || chr(28), 0, '', '', '', '',
    CASE WHEN share(i, 'campaign') < 0.01 THEN word(i, 'utm') ELSE '' END, CASE WHEN share(i, 'campaign') < 0.01 THEN 'cpc' ELSE '' END,
    CASE WHEN share(i, 'campaign') < 0.01 THEN word(page, 'utm') ELSE '' END, '', '', CASE WHEN share(i, 'tag') < 0.01 THEN word(page, 'tag') ELSE '' END, 0,
    CASE WHEN referer = 'http://' || host_name(0) || '/' THEN 3594120000172545465 ELSE CAST(hash(referer, $SEED) >> 1 AS BIGINT) END,
    CASE WHEN host(page) = 0 AND page < 20000 THEN 2868770270353813622 ELSE CAST(hash(url, $SEED) >> 1 AS BIGINT) END, 0
FROM linked;
