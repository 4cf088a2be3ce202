-- The 43 queries of ClickBench (https://github.com/ClickHouse/ClickBench) in T-SQL. peer.py turns them into DuckDB's
-- dialect, so both sides compute the same.
--
-- What is written in another way than there:
--   AVG of a float instead of an integer, since T-SQL's AVG of integers is an integer. The peer's AVG has no cast.
--   q28 and q29 keep groups of over 1,000 rows instead of 100,000, and q42 begins at row 100 instead of 10,000: the table
--   has a hundredth of the rows.
--   q29 cuts the host out of Referer with CHARINDEX and SUBSTRING on both sides, since T-SQL has REGEXP_REPLACE only
--   from SQL Server 2025 on.
--   q35 groups by URL alone: T-SQL does not group by a constant.
-- "ranked by" names the columns of the answer, from 1, that ORDER BY decides by. Where rows tie at the end of TOP, both
-- sides may return others of the same rank; such an answer is looked up in the peer's whole one.

-- q01
SELECT COUNT(*) FROM hits;
-- q02
SELECT COUNT(*) FROM hits WHERE AdvEngineID <> 0;
-- q03
SELECT SUM(AdvEngineID), COUNT(*), AVG(CAST(ResolutionWidth AS float)) FROM hits;
-- q04
SELECT AVG(CAST(UserID AS float)) FROM hits;
-- q05
SELECT COUNT(DISTINCT UserID) FROM hits;
-- q06
SELECT COUNT(DISTINCT SearchPhrase) FROM hits;
-- q07
SELECT MIN(EventDate), MAX(EventDate) FROM hits;
-- q08
SELECT AdvEngineID, COUNT(*) FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY COUNT(*) DESC;
-- q09, ranked by 2
SELECT TOP (10) RegionID, COUNT(DISTINCT UserID) AS u FROM hits GROUP BY RegionID ORDER BY u DESC;
-- q10, ranked by 3
SELECT TOP (10) RegionID, SUM(AdvEngineID), COUNT(*) AS c, AVG(CAST(ResolutionWidth AS float)), COUNT(DISTINCT UserID)
FROM hits GROUP BY RegionID ORDER BY c DESC;
-- q11, ranked by 2
SELECT TOP (10) MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> ''
GROUP BY MobilePhoneModel ORDER BY u DESC;
-- q12, ranked by 3
SELECT TOP (10) MobilePhone, MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> ''
GROUP BY MobilePhone, MobilePhoneModel ORDER BY u DESC;
-- q13, ranked by 2
SELECT TOP (10) SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC;
-- q14, ranked by 2
SELECT TOP (10) SearchPhrase, COUNT(DISTINCT UserID) AS u FROM hits WHERE SearchPhrase <> ''
GROUP BY SearchPhrase ORDER BY u DESC;
-- q15, ranked by 3
SELECT TOP (10) SearchEngineID, SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> ''
GROUP BY SearchEngineID, SearchPhrase ORDER BY c DESC;
-- q16, ranked by 2
SELECT TOP (10) UserID, COUNT(*) FROM hits GROUP BY UserID ORDER BY COUNT(*) DESC;
-- q17, ranked by 3
SELECT TOP (10) UserID, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, SearchPhrase ORDER BY COUNT(*) DESC;
-- q18, ranked by
SELECT TOP (10) UserID, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, SearchPhrase;
-- q19, ranked by 4
SELECT TOP (10) UserID, DATEPART(minute, EventTime) AS m, SearchPhrase, COUNT(*) FROM hits
GROUP BY UserID, DATEPART(minute, EventTime), SearchPhrase ORDER BY COUNT(*) DESC;
-- q20
SELECT UserID FROM hits WHERE UserID = 435090932899640449;
-- q21
SELECT COUNT(*) FROM hits WHERE URL LIKE '%google%';
-- q22, ranked by 3
SELECT TOP (10) SearchPhrase, MIN(URL), COUNT(*) AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> ''
GROUP BY SearchPhrase ORDER BY c DESC;
-- q23, ranked by 4
SELECT TOP (10) SearchPhrase, MIN(URL), MIN(Title), COUNT(*) AS c, COUNT(DISTINCT UserID) FROM hits
WHERE Title LIKE '%Google%' AND URL NOT LIKE '%.google.%' AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC;
-- q24, ranked by 5
SELECT TOP (10) * FROM hits WHERE URL LIKE '%google%' ORDER BY EventTime;
-- q25
SELECT TOP (10) SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime;
-- q26, ranked by 1
SELECT TOP (10) SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY SearchPhrase;
-- q27
SELECT TOP (10) SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime, SearchPhrase;
-- q28, ranked by 2
SELECT TOP (25) CounterID, AVG(CAST(LEN(URL) AS float)) AS l, COUNT(*) AS c FROM hits WHERE URL <> ''
GROUP BY CounterID HAVING COUNT(*) > 1000 ORDER BY l DESC;
-- q29, ranked by 2
SELECT TOP (25) k, AVG(CAST(LEN(Referer) AS float)) AS l, COUNT(*) AS c, MIN(Referer) FROM (
    SELECT Referer, CASE WHEN first > 0 AND CHARINDEX('/', Referer, first + 1) > 0
        THEN SUBSTRING(Referer, first, CHARINDEX('/', Referer, first + 1) - first) ELSE Referer END AS k
    FROM (SELECT Referer, CASE WHEN Referer LIKE 'http://www.%' THEN 12 WHEN Referer LIKE 'http://%' THEN 8
        WHEN Referer LIKE 'https://www.%' THEN 13 WHEN Referer LIKE 'https://%' THEN 9 ELSE 0 END AS first
        FROM hits WHERE Referer <> '') AS prefixes) AS hosts
GROUP BY k HAVING COUNT(*) > 1000 ORDER BY l DESC;
-- q30
SELECT SUM(ResolutionWidth), SUM(ResolutionWidth + 1), SUM(ResolutionWidth + 2), SUM(ResolutionWidth + 3),
    SUM(ResolutionWidth + 4), SUM(ResolutionWidth + 5), SUM(ResolutionWidth + 6), SUM(ResolutionWidth + 7),
    SUM(ResolutionWidth + 8), SUM(ResolutionWidth + 9), SUM(ResolutionWidth + 10), SUM(ResolutionWidth + 11),
    SUM(ResolutionWidth + 12), SUM(ResolutionWidth + 13), SUM(ResolutionWidth + 14), SUM(ResolutionWidth + 15),
    SUM(ResolutionWidth + 16), SUM(ResolutionWidth + 17), SUM(ResolutionWidth + 18), SUM(ResolutionWidth + 19),
    SUM(ResolutionWidth + 20), SUM(ResolutionWidth + 21), SUM(ResolutionWidth + 22), SUM(ResolutionWidth + 23),
    SUM(ResolutionWidth + 24), SUM(ResolutionWidth + 25), SUM(ResolutionWidth + 26), SUM(ResolutionWidth + 27),
    SUM(ResolutionWidth + 28), SUM(ResolutionWidth + 29), SUM(ResolutionWidth + 30), SUM(ResolutionWidth + 31),
    SUM(ResolutionWidth + 32), SUM(ResolutionWidth + 33), SUM(ResolutionWidth + 34), SUM(ResolutionWidth + 35),
    SUM(ResolutionWidth + 36), SUM(ResolutionWidth + 37), SUM(ResolutionWidth + 38), SUM(ResolutionWidth + 39),
    SUM(ResolutionWidth + 40), SUM(ResolutionWidth + 41), SUM(ResolutionWidth + 42), SUM(ResolutionWidth + 43),
    SUM(ResolutionWidth + 44), SUM(ResolutionWidth + 45), SUM(ResolutionWidth + 46), SUM(ResolutionWidth + 47),
    SUM(ResolutionWidth + 48), SUM(ResolutionWidth + 49), SUM(ResolutionWidth + 50), SUM(ResolutionWidth + 51),
    SUM(ResolutionWidth + 52), SUM(ResolutionWidth + 53), SUM(ResolutionWidth + 54), SUM(ResolutionWidth + 55),
    SUM(ResolutionWidth + 56), SUM(ResolutionWidth + 57), SUM(ResolutionWidth + 58), SUM(ResolutionWidth + 59),
    SUM(ResolutionWidth + 60), SUM(ResolutionWidth + 61), SUM(ResolutionWidth + 62), SUM(ResolutionWidth + 63),
    SUM(ResolutionWidth + 64), SUM(ResolutionWidth + 65), SUM(ResolutionWidth + 66), SUM(ResolutionWidth + 67),
    SUM(ResolutionWidth + 68), SUM(ResolutionWidth + 69), SUM(ResolutionWidth + 70), SUM(ResolutionWidth + 71),
    SUM(ResolutionWidth + 72), SUM(ResolutionWidth + 73), SUM(ResolutionWidth + 74), SUM(ResolutionWidth + 75),
    SUM(ResolutionWidth + 76), SUM(ResolutionWidth + 77), SUM(ResolutionWidth + 78), SUM(ResolutionWidth + 79),
    SUM(ResolutionWidth + 80), SUM(ResolutionWidth + 81), SUM(ResolutionWidth + 82), SUM(ResolutionWidth + 83),
    SUM(ResolutionWidth + 84), SUM(ResolutionWidth + 85), SUM(ResolutionWidth + 86), SUM(ResolutionWidth + 87),
    SUM(ResolutionWidth + 88), SUM(ResolutionWidth + 89)
FROM hits;
-- q31, ranked by 3
SELECT TOP (10) SearchEngineID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(CAST(ResolutionWidth AS float)) FROM hits
WHERE SearchPhrase <> '' GROUP BY SearchEngineID, ClientIP ORDER BY c DESC;
-- q32, ranked by 3
SELECT TOP (10) WatchID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(CAST(ResolutionWidth AS float)) FROM hits
WHERE SearchPhrase <> '' GROUP BY WatchID, ClientIP ORDER BY c DESC;
-- q33, ranked by 3
SELECT TOP (10) WatchID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(CAST(ResolutionWidth AS float)) FROM hits
GROUP BY WatchID, ClientIP ORDER BY c DESC;
-- q34, ranked by 2
SELECT TOP (10) URL, COUNT(*) AS c FROM hits GROUP BY URL ORDER BY c DESC;
-- q35, ranked by 3
SELECT TOP (10) 1, URL, COUNT(*) AS c FROM hits GROUP BY URL ORDER BY c DESC;
-- q36, ranked by 5
SELECT TOP (10) ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3, COUNT(*) AS c FROM hits
GROUP BY ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3 ORDER BY c DESC;
-- q37, ranked by 2
SELECT TOP (10) URL, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01'
AND EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND URL <> '' GROUP BY URL ORDER BY PageViews DESC;
-- q38, ranked by 2
SELECT TOP (10) Title, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01'
AND EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND Title <> ''
GROUP BY Title ORDER BY PageViews DESC;
-- q39, ranked by 2
SELECT URL, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01'
AND EventDate <= '2013-07-31' AND IsRefresh = 0 AND IsLink <> 0 AND IsDownload = 0 GROUP BY URL
ORDER BY PageViews DESC OFFSET 1000 ROWS FETCH NEXT 10 ROWS ONLY;
-- q40, ranked by 6
SELECT TraficSourceID, SearchEngineID, AdvEngineID,
    CASE WHEN SearchEngineID = 0 AND AdvEngineID = 0 THEN Referer ELSE '' END AS Src, URL AS Dst, COUNT(*) AS PageViews
FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0
GROUP BY TraficSourceID, SearchEngineID, AdvEngineID,
    CASE WHEN SearchEngineID = 0 AND AdvEngineID = 0 THEN Referer ELSE '' END, URL
ORDER BY PageViews DESC OFFSET 1000 ROWS FETCH NEXT 10 ROWS ONLY;
-- q41, ranked by 3
SELECT URLHash, EventDate, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01'
AND EventDate <= '2013-07-31' AND IsRefresh = 0 AND TraficSourceID IN (-1, 6) AND RefererHash = 3594120000172545465
GROUP BY URLHash, EventDate ORDER BY PageViews DESC OFFSET 100 ROWS FETCH NEXT 10 ROWS ONLY;
-- q42, ranked by 3
SELECT WindowClientWidth, WindowClientHeight, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62
AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0 AND DontCountHits = 0
AND URLHash = 2868770270353813622 GROUP BY WindowClientWidth, WindowClientHeight
ORDER BY PageViews DESC OFFSET 100 ROWS FETCH NEXT 10 ROWS ONLY;
-- q43
SELECT DATETRUNC(minute, EventTime) AS M, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62
AND EventDate >= '2013-07-14' AND EventDate <= '2013-07-15' AND IsRefresh = 0 AND DontCountHits = 0
GROUP BY DATETRUNC(minute, EventTime) ORDER BY DATETRUNC(minute, EventTime) OFFSET 1000 ROWS FETCH NEXT 10 ROWS ONLY;
