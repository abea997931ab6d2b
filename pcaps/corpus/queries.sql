-- Ten questions to the tables of tcpwheel-corpus, for DuckDB in the directory that holds tables. For
-- tables in a store load httpfs, and write 's3://BUCKET/tables/...'. Package peers/sql runs them.

-- 1. How long do recoveries take, by kind and round trip?
SELECT kind,
       CASE WHEN rtt_s < 0.01 THEN '0-10 ms' WHEN rtt_s < 0.1 THEN '10-100 ms' ELSE '100+ ms' END AS rtt,
       count(*) AS episodes, median(t_rec_s) AS p50_s, quantile_cont(t_rec_s, 0.95) AS p95_s
FROM 'tables/episodes/*/*.parquet'
WHERE t_rec_s IS NOT NULL AND rtt_s IS NOT NULL
GROUP BY ALL ORDER BY ALL;

-- 2. Which hosts pay the largest timer tax?
SELECT regexp_replace(src, ':[0-9]+$', '') AS host, count(*) AS episodes, sum(timer_tax_s) AS tax_s
FROM 'tables/episodes/*/*.parquet'
WHERE timer_tax_s > 0
GROUP BY host ORDER BY tax_s DESC, host LIMIT 20;

-- 3. Which share of retransmission timeouts is spurious, by day?
SELECT day, count(*) AS timeouts, avg((spurious = 'yes')::INT) AS spurious
FROM read_parquet('tables/episodes/*/*.parquet', hive_partitioning = true)
WHERE kind = 'rto'
GROUP BY day ORDER BY day;

-- 4. How much time is lost by day, and which part of it waits for timers?
SELECT day, sum(duration_s) AS connected_s, sum(time_lost_s) AS lost_s,
       sum(timer_wait_s) / nullif(sum(time_lost_s), 0) AS on_timers
FROM read_parquet('tables/connections/*/*.parquet', hive_partitioning = true)
WHERE flow = 0
GROUP BY day ORDER BY day;

-- 5. Which services lose the most time?
SELECT regexp_extract(dst, ':([0-9]+)$', 1)::INT AS port, count(*) AS connections, sum(time_lost_s) AS lost_s
FROM 'tables/connections/*/*.parquet'
WHERE flow = 0
GROUP BY port HAVING lost_s > 0 ORDER BY lost_s DESC, port LIMIT 20;

-- 6. Which timers do senders have?
SELECT coalesce(timers_best, 'unknown') AS timers, count(*) AS flows, sum(timers_gaps) AS expiries
FROM 'tables/connections/*/*.parquet'
WHERE timers_gaps > 0
GROUP BY timers ORDER BY flows DESC, timers;

-- 7. How often is a SYN lost, and how long do handshakes take then?
SELECT syns > 0 AS lost_syn, count(*) AS connections, median(handshake_s) AS p50_s
FROM (SELECT file, conn, max(handshake_s) AS handshake_s, sum(episodes_syn) AS syns
      FROM 'tables/connections/*/*.parquet' GROUP BY file, conn)
GROUP BY lost_syn ORDER BY lost_syn;

-- 8. What was read, and what not?
SELECT count(*) AS files, count(*) FILTER (error LIKE '%not a capture%') AS others,
       count(*) FILTER (error NOT LIKE '%not a capture%') AS damaged, count(*) FILTER (cut_short) AS cut_short,
       sum(packets) AS packets, sum(tcp) AS tcp, sum(evicted) AS evicted
FROM 'tables/files/*/*.parquet';

-- 9. Where are the longest stalls? The answer names packets for Wireshark.
SELECT file, retransmission_packet AS packet, kind, time_lost_s
FROM 'tables/episodes/*/*.parquet'
ORDER BY time_lost_s DESC, file, packet LIMIT 10;

-- 10. What would other timers have made of it? Losses count that the oracle repairs as captured.
-- This is no verdict: replay also wants three keys to agree, and an interval.
SELECT p.policy, count(*) AS losses, median(p.t_rec_by_range_s) AS p50_s,
       sum(o.t_rec_by_range_s - p.t_rec_by_range_s) AS saved_s
FROM 'tables/recoveries/*/*.parquet' p
JOIN 'tables/recoveries/*/*.parquet' o USING (file, conn, sender, packet)
WHERE o.policy = 'oracle' AND p.policy <> 'oracle' AND p.gate IS NULL
  AND NOT p.filled_in AND NOT p.beyond_horizon AND p.t_rec_by_range_s IS NOT NULL
GROUP BY p.policy ORDER BY p.policy;
