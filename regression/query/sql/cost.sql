{{define "cost"}}
-- What methods cost, with weights formed once. Three kinds of rows:
--
-- method   one of each version: calls, measurements, its time with and without what
--          it calls, and the sums over its own clusters as of a group
-- group    one of each group asked for: the sums over clusters (instance x slot) of
--          the squares and cubes of what its self time there differs from what its
--          methods' means say, from which its interval follows
-- edge     what a method paid for one callee; caller NULL where it is not known and
--          can't be inferred. wall_n are the calls that were timed by the wall, wall_x those
--          whose CPU was timed: their probes are in the caller's time
--
-- x and n are of the metric: of CPU, or of wall time, where dollars mean nothing.
--
-- waits are how often the calls of n gave up the processor. both_x is the wall time of the calls whose CPU was timed, for n of them.
--
-- By goroutine group there are edges of each group, and
--
-- part     the part of a method in one group. Weights are those of the method, so parts add
--          up to it. Its interval is that of a domain: residuals are of what it is a call of
--          the whole method, because how many calls are of the group is an estimate, too
WITH
{{- if .ByGoroutineGroup}} goroutine_groups AS {{.Stored}} (
  SELECT goroutine_group
  FROM {{.Calls}}
  WHERE {{.Kind "" "call"}} AND goroutine_group IS NOT NULL AND start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns {{.Only ""}}
  GROUP BY goroutine_group
  ORDER BY COUNT(*) DESC, goroutine_group
  LIMIT {{.MaxGoroutineGroups}}
),
{{- end}} scoped AS {{.Inline}} (
  SELECT
    c.*
    {{- if or .Repriced .ByGoroutineGroup}} REPLACE (
      {{- if .Repriced}}CAST(r.usd_per_core_hour AS {{.Double}}) AS usd_per_core_hour{{end}}
      {{- if .ByGoroutineGroup}}{{if .Repriced}}, {{end}}COALESCE(g.goroutine_group, CASE
        WHEN NOT {{.Kind "c." "call"}} THEN '(unknown)'
        WHEN c.goroutine_group IS NULL THEN '(none)'
        ELSE '(other)' END) AS goroutine_group{{end}})
    {{- end}},
    -- What was counted needs no slot.
    CASE WHEN c.start_ns >= {{.Param}}from_ns AND c.start_ns < {{.Param}}to_ns
      THEN CASE WHEN {{.Kind "c." "counts"}} AND {{.Raw "c."}} THEN 0 ELSE c.start_ns - MOD(c.start_ns, {{.Param}}slot_ns) END END AS slot_ns
  FROM {{.Rows}} AS c
  {{- if .Repriced}}
  LEFT JOIN {{.Given "repriced"}} AS r ON {{.Same "c" "r" "cloud_provider" "region" "host_type" "capacity_type"}}
  {{- end}}
  {{- if .ByGoroutineGroup}}
  LEFT JOIN goroutine_groups AS g ON g.goroutine_group = c.goroutine_group
  {{- end}}
  WHERE true {{.Only "c."}}
),
{{template "weighed" (.From "scoped").GroupByCostColumns}},
seen AS (
  -- What was counted needs no slot and, as what has a caller, no cell. named says
  -- whether rows name instances (1), groups of them, as sums in the place of rows do (2), or
  -- some the one and some the other (3).
  SELECT
    key_id, name_id, {{if .ByGoroutineGroup}}goroutine_group, {{end}}caller, instance,
    CASE WHEN measured > 0 THEN slot_ns ELSE 0 END AS slot_ns,
    CASE WHEN measured > 0 AND holes = 1 THEN {{.Cell}} ELSE '' END AS cell,
    CASE WHEN measured > 0 AND holes = 1 THEN {{.Cell}}_ns ELSE 0 END AS cell_ns,
    MIN(COALESCE(signature, '')) AS first_signature, MAX(COALESCE(signature, '')) AS last_signature,
    BIT_OR(CASE WHEN level = 'raw' THEN 1 WHEN COALESCE(instance, '') = '' THEN 3 WHEN instance LIKE 'group-__' THEN 2 ELSE 1 END) AS named,
    SUM(calls) AS calls,
    SUM(CASE WHEN cell_wall = 'none' THEN calls - COALESCE(wall_factor * wall_n, 0) ELSE 0 END) AS unmeasured_calls,
    SUM(measured) AS measured,
    SUM(cpu_measured) AS cpu_measured,
    COALESCE(SUM(wall_factor * wall_n), 0) AS flow,
    COALESCE(SUM(wall_factor * wall_x), 0) AS wall_x,
    COALESCE(SUM(cpu_factor * both_x), 0) AS both_x,
    COALESCE(SUM(wall_factor * errors), 0) AS errors,
    COALESCE(SUM({{.Factor}} * waits), 0) AS waits,
    COALESCE(SUM({{.Factor}} * {{.Sum}}), 0) AS n,
    COALESCE(SUM({{.Factor}} * x), 0) AS x,
    COALESCE(SUM({{.Factor}} * x * usd_per_core_hour / 3.6e12), 0) AS usd,
    COALESCE(SUM(CASE WHEN usd_per_core_hour IS NULL THEN {{.Factor}} * x END), 0) AS unpriced_x
  FROM weighed
  WHERE slot_ns IS NOT NULL
  GROUP BY
    key_id, name_id, {{if .ByGoroutineGroup}}goroutine_group, {{end}}caller, instance,
    CASE WHEN measured > 0 THEN weighed.slot_ns ELSE 0 END,
    CASE WHEN measured > 0 AND holes = 1 THEN {{.Cell}} ELSE '' END,
    CASE WHEN measured > 0 AND holes = 1 THEN {{.Cell}}_ns ELSE 0 END
),
known AS (
  SELECT key_id, cell, cell_ns, caller, SUM(flow) AS flow
  FROM seen
  WHERE caller IS NOT NULL
  GROUP BY key_id, cell, cell_ns, caller
),
shares AS (
  SELECT *, {{.Clamp `flow / NULLIF(SUM(flow) OVER (PARTITION BY key_id, cell, cell_ns), 0)` "share"}} AS share
  FROM known
),
paid AS (
  SELECT key_id, name_id, {{if .ByGoroutineGroup}}goroutine_group, {{end}}instance, slot_ns, named, caller, flow, n, x, waits, usd, unpriced_x, measured - cpu_measured AS timed_wall, cpu_measured AS timed_cpu
  FROM seen
  WHERE caller IS NOT NULL
  UNION ALL
  SELECT
    u.key_id, u.name_id, {{if .ByGoroutineGroup}}u.goroutine_group, {{end}}u.instance, u.slot_ns, u.named,
    s.caller,
    u.flow * COALESCE(s.share, 1) AS flow,
    u.n * COALESCE(s.share, 1) AS n,
    u.x * COALESCE(s.share, 1) AS x,
    u.waits * COALESCE(s.share, 1) AS waits,
    u.usd * COALESCE(s.share, 1) AS usd,
    u.unpriced_x * COALESCE(s.share, 1) AS unpriced_x,
    (u.measured - u.cpu_measured) * COALESCE(s.share, 1) AS timed_wall,
    u.cpu_measured * COALESCE(s.share, 1) AS timed_cpu
  FROM seen AS u
  LEFT JOIN shares AS s ON {{.Same "u" "s" "key_id" "cell" "cell_ns"}}
  WHERE u.caller IS NULL AND u.flow > 0
),
names AS (
  SELECT {{.ServiceOfKeys}}, version, name, name_id, MAX(class) AS class, MAX(method) AS method
  FROM keys
  GROUP BY {{.Version ""}}, name, name_id
),
callers AS (
  -- Which method of ours a caller is, if it is one.
  SELECT c.name_id, c.caller, o.name_id AS caller_id
  FROM (SELECT DISTINCT name_id, caller FROM paid WHERE caller IS NOT NULL) AS c
  JOIN names AS e ON e.name_id = c.name_id
  JOIN names AS o ON o.name = c.caller AND {{.Same "e" "o" "service_namespace" "service" "environment" "version"}}
),
entries AS (
  SELECT name_id, {{if .ByGoroutineGroup}}goroutine_group, {{end}}instance, slot_ns, named, n, x AS self_x, usd AS self_usd, unpriced_x AS self_unpriced_x, 0 AS orphan_x
  FROM seen
  UNION ALL
  SELECT c.caller_id AS name_id, {{if .ByGoroutineGroup}}p.goroutine_group, {{end}}p.instance, p.slot_ns, p.named, 0 AS n, -p.x AS self_x, -p.usd AS self_usd, -p.unpriced_x AS self_unpriced_x, 0 AS orphan_x
  FROM paid AS p
  JOIN callers AS c ON c.name_id = p.name_id AND c.caller = p.caller
  UNION ALL
  SELECT name_id, {{if .ByGoroutineGroup}}goroutine_group, {{end}}instance, slot_ns, named, 0 AS n, 0 AS self_x, 0 AS self_usd, 0 AS self_unpriced_x, x AS orphan_x
  FROM paid
  WHERE caller IS NULL
),
clusters AS (
  SELECT
    name_id, instance, slot_ns, BIT_OR(named) AS named,
    SUM(n) AS n, SUM(self_x) AS self_x, SUM(self_usd) AS self_usd, SUM(self_unpriced_x) AS self_unpriced_x, SUM(orphan_x) AS orphan_x
  FROM entries
  GROUP BY name_id, instance, slot_ns
),
totals AS (
  SELECT
    name_id,
    SUM(CASE WHEN n > 0 THEN 1 ELSE 0 END) AS clusters,
    SUM(n) AS n, SUM(self_x) AS self_x, SUM(self_usd) AS self_usd, SUM(self_unpriced_x) AS self_unpriced_x, SUM(orphan_x) AS orphan_x
  FROM clusters
  GROUP BY name_id
),
own AS (
  SELECT
    name_id,
    CASE WHEN MIN(first_signature) = MAX(last_signature) THEN MAX(last_signature) END AS signature,
    SUM(calls) AS calls, SUM(unmeasured_calls) AS unmeasured_calls,
    {{.Total `measured`}} AS measured, {{.Total `cpu_measured`}} AS cpu_measured,
    SUM(flow) AS wall_n, SUM(wall_x) AS wall_x, SUM(both_x) AS both_x, SUM(errors) AS errors, SUM(waits) AS waits, SUM(x) AS x
  FROM seen
  GROUP BY name_id
),
means AS (
  -- A version of too few clusters would be its own mean.
  SELECT
    {{.Service "e."}}, e.version, e.class, e.method, e.name, t.*,
    {{if .Owned}}o.owner{{else}}CAST(NULL AS {{.Text}}){{end}} AS owner,
    {{.Clamp `CASE WHEN t.clusters >= 3 THEN t.self_x / NULLIF(t.n, 0)
      ELSE SUM(t.self_x) OVER versions / NULLIF(SUM(t.n) OVER versions, 0) END` "mean"}} AS mean
  FROM totals AS t
  JOIN names AS e ON e.name_id = t.name_id
  {{- if .Owned}}
  LEFT JOIN {{.Given "owned"}} AS o ON {{.Same "e" "o" "service_namespace" "service" "environment" "class"}}
  {{- end}}
  WINDOW versions AS (PARTITION BY {{.Service "e."}}, e.name)
),
{{- if .ByGoroutineGroup}}
cluster_parts AS (
  SELECT
    name_id, goroutine_group, instance, slot_ns, BIT_OR(named) AS named,
    SUM(n) AS n, SUM(self_x) AS self_x, SUM(self_usd) AS self_usd, SUM(self_unpriced_x) AS self_unpriced_x
  FROM entries
  GROUP BY name_id, goroutine_group, instance, slot_ns
),
parts AS (
  SELECT name_id, goroutine_group, SUM(n) AS n, SUM(self_x) AS self_x, SUM(self_usd) AS self_usd, SUM(self_unpriced_x) AS self_unpriced_x
  FROM cluster_parts
  GROUP BY name_id, goroutine_group
),
mean_parts AS (
  SELECT
    {{.Service "m."}}, m.version, m.class, m.method, m.owner, m.name, m.name_id, p.goroutine_group, p.n, p.self_x, p.self_usd, p.self_unpriced_x,
    {{.Clamp `CASE WHEN m.clusters >= 3 THEN p.self_x / NULLIF(m.n, 0)
      ELSE SUM(p.self_x) OVER versions / NULLIF(SUM(m.n) OVER versions, 0) END` "mean"}} AS mean
  FROM means AS m
  JOIN parts AS p ON p.name_id = m.name_id
  WINDOW versions AS (PARTITION BY {{.Service "m."}}, m.name, p.goroutine_group)
),
own_parts AS (
  SELECT
    name_id, goroutine_group,
    {{.Total `measured`}} AS measured, {{.Total `cpu_measured`}} AS cpu_measured,
    SUM(flow) AS wall_n, SUM(wall_x) AS wall_x, SUM(both_x) AS both_x, SUM(errors) AS errors, SUM(waits) AS waits, SUM(x) AS x
  FROM seen
  GROUP BY name_id, goroutine_group
),
{{- end}}
ranked AS (
  SELECT
    *,
    DENSE_RANK() OVER (ORDER BY {{.Service ""}}) AS service_id,
    DENSE_RANK() OVER (ORDER BY {{.Service ""}}, version) AS version_id,
    {{if .CostGroup}}DENSE_RANK() OVER (ORDER BY {{range $i, $c := .CostGroup}}{{if $i}}, {{end}}{{$c}}{{end}}){{else}}1{{end}} AS group_id
  FROM {{if .ByGoroutineGroup}}mean_parts{{else}}means{{end}}
),
single AS (
  SELECT
    c.name_id,
    SUM((c.self_x - COALESCE(m.mean, 0) * c.n) * (c.self_x - COALESCE(m.mean, 0) * c.n)) AS residual_squares
  FROM clusters AS c
  JOIN means AS m ON c.name_id = m.name_id
  GROUP BY c.name_id
),
grouped AS (
  SELECT
    m.group_id, m.service_id, m.version_id, c.instance, c.slot_ns,
    {{- if .ByGoroutineGroup}}
    BIT_OR(p.named) AS named, SUM(c.n) AS n, {{.Clamp `SUM(COALESCE(p.self_x, 0) - COALESCE(m.mean, 0) * c.n)` "residual"}} AS residual
    {{- else}}
    BIT_OR(c.named) AS named, SUM(c.n) AS n, {{.Clamp `SUM(c.self_x - COALESCE(m.mean, 0) * c.n)` "residual"}} AS residual
    {{- end}}
  FROM clusters AS c
  JOIN ranked AS m ON c.name_id = m.name_id
  {{- if .ByGoroutineGroup}}
  LEFT JOIN cluster_parts AS p ON {{.Same "c" "p" "name_id" "instance" "slot_ns"}} AND p.goroutine_group = m.goroutine_group
  {{- end}}
  GROUP BY m.group_id, m.service_id, m.version_id, c.instance, c.slot_ns
),
of_services AS (
  SELECT
    group_id, service_id,
    SUM(n) AS n,
    SUM(residual * residual) AS residual_squares, SUM(residual * residual * residual) AS residual_cubes,
    SUM(CASE WHEN n > 0 THEN 1 ELSE 0 END) AS clusters,
    GREATEST(
      COUNT(DISTINCT CASE WHEN named <> 2 THEN COALESCE(instance, '') END),
      COUNT(DISTINCT CASE WHEN named <> 1 THEN COALESCE(instance, '') END)) AS instances
  FROM grouped
  GROUP BY group_id, service_id
),
spread AS (
  SELECT
    group_id,
    SUM(n) AS n, SUM(residual_squares) AS residual_squares, SUM(residual_cubes) AS residual_cubes,
    CAST(SUM(clusters) AS {{.Long}}) AS clusters, CAST(SUM(instances) AS {{.Long}}) AS instances
  FROM of_services
  GROUP BY group_id
)
SELECT
  'method' AS what, {{.Service "m."}}, m.version, m.class, m.method, m.owner, CAST(NULL AS {{.Text}}) AS goroutine_group, m.name, CAST(NULL AS {{.Text}}) AS caller, o.signature,
  o.calls, o.unmeasured_calls, o.measured, o.cpu_measured, o.wall_n, o.wall_x, o.both_x, o.errors, o.waits,
  m.n, o.x, m.self_x, m.self_usd, m.self_unpriced_x, m.orphan_x, a.residual_squares, 0 AS residual_cubes, CAST(m.clusters AS {{.Long}}) AS clusters, 0 AS instances
FROM means AS m
JOIN own AS o ON m.name_id = o.name_id
JOIN single AS a ON m.name_id = a.name_id
UNION ALL
SELECT
  'group' AS what,
  {{.CostGroupColumn "service_namespace"}}, {{.CostGroupColumn "service"}}, {{.CostGroupColumn "environment"}}, {{.CostGroupColumn "version"}},
  {{.CostGroupColumn "class"}}, {{.CostGroupColumn "method"}}, {{.CostGroupColumn "owner"}}, {{.CostGroupColumn "goroutine_group"}}, CAST(NULL AS {{.Text}}) AS name, CAST(NULL AS {{.Text}}) AS caller, CAST(NULL AS {{.Text}}) AS signature,
  0 AS calls, 0 AS unmeasured_calls, 0 AS measured, 0 AS cpu_measured, 0 AS wall_n, 0 AS wall_x, 0 AS both_x, 0 AS errors, 0 AS waits,
  s.n, 0 AS x, 0 AS self_x, 0 AS self_usd, 0 AS self_unpriced_x, 0 AS orphan_x,
  s.residual_squares, s.residual_cubes, s.clusters, s.instances
FROM spread AS s
JOIN (SELECT DISTINCT group_id{{range .CostGroup}}, {{.}}{{end}} FROM ranked) AS g ON g.group_id = s.group_id
UNION ALL
SELECT
  'edge' AS what, {{.Service "e."}}, e.version, CAST(NULL AS {{.Text}}) AS class, CAST(NULL AS {{.Text}}) AS method, CAST(NULL AS {{.Text}}) AS owner, {{if .ByGoroutineGroup}}p.goroutine_group{{else}}CAST(NULL AS {{.Text}}) AS goroutine_group{{end}}, e.name, p.caller, CAST(NULL AS {{.Text}}) AS signature,
  p.flow AS calls, 0 AS unmeasured_calls, 0 AS measured, 0 AS cpu_measured, COALESCE(p.timed_wall, 0) AS wall_n, COALESCE(p.timed_cpu, 0) AS wall_x, 0 AS both_x, 0 AS errors, p.waits,
  p.n, p.x, 0 AS self_x, p.usd AS self_usd, 0 AS self_unpriced_x, 0 AS orphan_x, 0 AS residual_squares, 0 AS residual_cubes, 0 AS clusters, 0 AS instances
FROM (
  SELECT name_id, {{if .ByGoroutineGroup}}goroutine_group, {{end}}caller, SUM(flow) AS flow, SUM(n) AS n, SUM(x) AS x, SUM(waits) AS waits, SUM(usd) AS usd, SUM(timed_wall) AS timed_wall, SUM(timed_cpu) AS timed_cpu
  FROM paid
  GROUP BY name_id, {{if .ByGoroutineGroup}}goroutine_group, {{end}}caller
) AS p
JOIN names AS e ON e.name_id = p.name_id
{{- if .ByGoroutineGroup}}
UNION ALL
SELECT
  'part' AS what, {{.Service "m."}}, m.version, m.class, m.method, m.owner, m.goroutine_group, m.name, CAST(NULL AS {{.Text}}) AS caller, CAST(NULL AS {{.Text}}) AS signature,
  0 AS calls, 0 AS unmeasured_calls, COALESCE(o.measured, 0) AS measured, COALESCE(o.cpu_measured, 0) AS cpu_measured, o.wall_n, o.wall_x, o.both_x, o.errors, o.waits,
  m.n, o.x, m.self_x, m.self_usd, m.self_unpriced_x, 0 AS orphan_x, 0 AS residual_squares, 0 AS residual_cubes, 0 AS clusters, 0 AS instances
FROM mean_parts AS m
LEFT JOIN own_parts AS o ON o.name_id = m.name_id AND o.goroutine_group = m.goroutine_group
{{- end}}
ORDER BY what, service_namespace, service, environment, version, name, caller, class, method, owner, goroutine_group
{{end}}

{{define "bill"}}
-- From when to when rows of a service are and say what was spent: counts and process rows up to
-- their end, and calls that bear their own counts, as those of other SDKs.
--
-- What its processes used and what is paid for them: a host is paid once for its cores x the
-- time in which any of its processes ran, whether they are used or not. By hour
--
-- limited   a container pays its limit, with the others at most what the host has
-- shared    the processes without a limit pay the rest of the host, by the CPU they used
-- alone     a process whose host or its cores are not known pays its own cores x time
--
-- Processes share a host within their namespace only, so those of other services are read
-- too. What used more than it may, as threads of the system do, pays what it used. Processes that
-- state other cores are on another host, and long rows of others make no hour longer: nobody
-- inflates the bill of a neighbour.
WITH seen AS (
  SELECT
    {{.Service "c."}},
    MAX(CASE WHEN {{.Kind "c." "counts" "process"}} OR c.calls > 0 THEN c.end_ns END) AS counted_ns,
    MIN(CASE WHEN c.start_ns >= {{.Param}}from_ns THEN c.start_ns END) AS first_ns,
    MAX(CASE WHEN c.start_ns >= {{.Param}}from_ns THEN c.end_ns END) AS last_ns,
    MAX(CASE WHEN c.start_ns >= {{.Param}}from_ns AND c.weight_basis <> 'exact' THEN 1 ELSE 0 END) AS others,
    -- Sums name groups of instances.
    GREATEST(
      COUNT(DISTINCT CASE WHEN c.start_ns >= {{.Param}}from_ns AND c.level = 'raw' THEN c.instance END),
      COUNT(DISTINCT CASE WHEN c.start_ns >= {{.Param}}from_ns AND c.level <> 'raw' THEN c.instance END)) AS instances,
    -- Whether any price is of a public list.
    MAX(CASE WHEN c.start_ns >= {{.Param}}from_ns AND {{if .Repriced}}r.listed IS NOT NULL{{else}}c.price_source LIKE 'list %'{{end}} THEN 1 ELSE 0 END) AS listed
  FROM {{.Calls}} AS c
  {{- if .Repriced}}
  LEFT JOIN {{.Given "repriced"}} AS r ON {{.Same "c" "r" "cloud_provider" "region" "host_type" "capacity_type"}}
  {{- end}}
  WHERE c.start_ns < {{.Param}}to_ns
    {{.Only "c."}}
  GROUP BY {{.Service "c."}}
  HAVING MAX(c.start_ns) >= {{.Param}}from_ns
),
processes AS (
  SELECT
    {{.Service "c."}}, c.cloud_provider, c.region, c.start_ns, c.end_ns,
    CAST(c.end_ns - c.start_ns AS {{.Double}}) AS lasted, CAST(c.cpu_ns AS {{.Double}}) AS cpu_ns,
    {{.SumOf "c.sdk_stats" "s" "CASE WHEN s.name = 'own.cpu_ns' THEN GREATEST(0, s.value) END"}} AS sdk_ns,
    CASE WHEN c.host_cores > 0 THEN COALESCE(c.host_id, c.host) END AS host,
    CASE WHEN c.host_cores > 0 AND c.host_id IS NULL AND c.host IS NOT NULL THEN 1 ELSE 0 END AS named,
    COALESCE(c.host_cores, 0) AS host_cores,
    CAST(c.host_cores AS {{.Text}}) AS cores_text, -- BigQuery makes no partitions by numbers with fractions
    COALESCE(CAST(c.cores AS {{.Double}}), 0) AS cores,
    COALESCE(c.cpu_limit, 0) AS cpu_limit,
    {{if .Repriced}}CAST(r.usd_per_core_hour AS {{.Double}}){{else}}c.usd_per_core_hour{{end}} AS price
  FROM {{.Calls}} AS c
  {{- if .Repriced}}
  LEFT JOIN {{.Given "repriced"}} AS r ON {{.Same "c" "r" "cloud_provider" "region" "host_type" "capacity_type"}}
  {{- end}}
  WHERE c.start_ns >= {{.Param}}from_ns AND c.start_ns < {{.Param}}to_ns
    AND c.kind = 'process' AND c.cpu_measured > 0 {{.OfAll.Only "c."}}
),
placed AS (
  SELECT
    *,
    CASE WHEN cpu_limit > 0 THEN 'limited' WHEN host IS NOT NULL THEN 'shared' ELSE 'alone' END AS pays,
    start_ns - MOD(start_ns, 3600000000000) AS hour_ns,
    -- What no process of the host covered that started before.
    CAST(GREATEST(0, end_ns - GREATEST(start_ns, COALESCE(MAX(end_ns) OVER (
      PARTITION BY service_namespace, cloud_provider, region, host, cores_text ORDER BY start_ns, end_ns
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start_ns))) AS {{.Double}}) AS fresh
  FROM processes
),
asked AS (
  SELECT
    *,
    CASE pays WHEN 'limited' THEN GREATEST(cpu_ns, cpu_limit * lasted) WHEN 'alone' THEN GREATEST(cpu_ns, cores * lasted) END AS own_ns
  FROM placed
),
hosts AS (
  SELECT
    *,
    LEAST(SUM(fresh * host_cores) OVER hours, host_cores * (3600000000000 + lasted)) AS host_ns,
    COALESCE(SUM(CASE WHEN pays = 'limited' THEN own_ns END) OVER hours, 0) AS limited_ns,
    COALESCE(SUM(CASE WHEN pays = 'limited' THEN cpu_ns END) OVER hours, 0) AS limited_cpu_ns,
    COALESCE(SUM(CASE WHEN pays = 'shared' THEN cpu_ns END) OVER hours, 0) AS shared_cpu_ns,
    COALESCE(SUM(CASE WHEN pays = 'shared' THEN lasted END) OVER hours, 0) AS shared_lasted
  FROM asked
  WINDOW hours AS (PARTITION BY service_namespace, cloud_provider, region, host, cores_text, hour_ns)
),
billed AS (
  SELECT
    {{.Service ""}}, cpu_ns, CASE WHEN sdk_ns > cpu_ns THEN cpu_ns ELSE sdk_ns END AS sdk_ns, price, pays, named, cores,
    CASE
      WHEN host IS NULL OR pays = 'limited' AND limited_ns + shared_cpu_ns <= host_ns THEN own_ns
      WHEN pays = 'limited' THEN cpu_ns + (own_ns - cpu_ns) * COALESCE(GREATEST(0, host_ns - shared_cpu_ns - limited_cpu_ns) / NULLIF(limited_ns - limited_cpu_ns, 0), 0)
      ELSE GREATEST(shared_cpu_ns, host_ns - limited_ns) *
        COALESCE(cpu_ns / NULLIF(shared_cpu_ns, 0), lasted / NULLIF(shared_lasted, 0), 0)
    END AS paid_ns
  FROM hosts
),
bills AS (
  SELECT
    {{.Service ""}},
    COUNT(*) AS intervals,
    SUM(CASE WHEN pays <> 'alone' OR cores > 0 THEN 1 ELSE 0 END) AS with_cores,
    SUM(CASE WHEN pays = 'alone' AND cores > 0 THEN 1 ELSE 0 END) AS alone,
    SUM(named) AS named,
    SUM(CASE WHEN pays = 'limited' THEN 1 ELSE 0 END) AS limited,
    SUM(cpu_ns) AS cpu_ns, SUM(cpu_ns * price / 3.6e12) AS cpu_usd,
    SUM(CASE WHEN price IS NULL THEN cpu_ns END) AS unpriced_cpu_ns,
    -- Known where all rows say it.
    CASE WHEN COUNT(sdk_ns) = COUNT(*) THEN SUM(sdk_ns) END AS sdk_ns, SUM(sdk_ns * price / 3.6e12) AS sdk_usd,
    SUM(paid_ns) AS paid_ns, SUM(paid_ns * price / 3.6e12) AS paid_usd,
    SUM(CASE WHEN price IS NULL THEN paid_ns END) AS unpriced_paid_ns
  FROM billed
  GROUP BY {{.Service ""}}
)
SELECT
  {{.Service "s."}}, s.counted_ns, s.first_ns, s.last_ns, CAST(s.others AS {{.Long}}) AS others,
  CAST(COALESCE(b.intervals, 0) AS {{.Long}}) AS intervals,
  CAST(COALESCE(b.with_cores, 0) AS {{.Long}}) AS intervals_with_cores,
  CAST(COALESCE(b.alone, 0) AS {{.Long}}) AS intervals_alone,
  CAST(COALESCE(b.named, 0) AS {{.Long}}) AS intervals_named,
  CAST(COALESCE(b.limited, 0) AS {{.Long}}) AS intervals_limited,
  s.instances, CAST(s.listed AS {{.Long}}) AS listed, b.cpu_ns, b.cpu_usd, b.unpriced_cpu_ns, b.sdk_ns, b.sdk_usd, b.paid_ns, b.paid_usd, b.unpriced_paid_ns
FROM seen AS s
LEFT JOIN bills AS b ON {{.Same "s" "b" "service_namespace" "service" "environment"}}
ORDER BY {{.Service ""}}
{{end}}

{{define "places"}}
-- Where processes ran, as far as prices depend on it.
SELECT DISTINCT cloud_provider, region, host_type, capacity_type
FROM {{.Calls}}
WHERE kind IS NOT NULL
  {{.Only ""}}
ORDER BY cloud_provider, region, host_type, capacity_type
{{end}}

{{define "priced"}}
-- Which hosts ran where and at which price, those that used most first: by the rows of
-- processes, and of SDKs that send none by those of calls.
SELECT
  cloud_provider, region, host_type, capacity_type, COALESCE(host, host_id) AS host, price_source, usd_per_core_hour,
  CAST(COUNT(*) AS {{.Long}}) AS row_count,
  COALESCE(SUM(CASE WHEN {{.Kind "" "process"}} THEN CAST(cpu_ns AS {{.Double}}) END), 0) AS cpu_ns
FROM {{.Calls}}
WHERE ({{.Kind "" "process"}} OR weight_basis <> 'exact') AND start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns
  {{.Only ""}}
GROUP BY cloud_provider, region, host_type, capacity_type, COALESCE(host, host_id), price_source, usd_per_core_hour
ORDER BY cpu_ns DESC, row_count DESC, cloud_provider, region, host_type, capacity_type, host, price_source
LIMIT {{.MaxPriced}}
{{end}}

{{define "classes"}}
SELECT DISTINCT {{.Service ""}}, class
FROM {{.Calls}}
WHERE {{.Kind "" "call" "counts" "aggregate"}}
  {{.Only ""}}
ORDER BY {{.Service ""}}, class
{{end}}

{{define "services"}}
SELECT DISTINCT {{.Service ""}}
FROM {{.Calls}}
WHERE kind IS NOT NULL
  {{.Only ""}}
ORDER BY {{.Service ""}}
{{end}}

{{define "percentiles"}}
-- How the times of calls of each method are spread: weights by the bins of
-- histograms. Single calls fall into the bin of their time.
WITH scoped AS {{.Inline}} (
  SELECT *
  FROM {{.Rows}}
  WHERE {{.Kind "" "call" "counts" "aggregate"}}
    {{.Only ""}}
),
{{template "weighted" .From "scoped"}},
timed AS (
  SELECT
    key_id, measured, cpu_measured, wall_hist, cpu_hist, w, w_wall,
    FLOOR(LN(GREATEST(wall_ns, 1)) / LN(1.01 / 0.99)) AS wall_bin,
    FLOOR(LN(GREATEST(cpu_ns, 1)) / LN(1.01 / 0.99)) AS cpu_bin
  FROM weighted
  WHERE start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns AND measured > 0
),
binned AS (
  SELECT key_id, 1 AS of_wall, wall_bin AS bin, w_wall AS n
  FROM timed
  WHERE measured = 1 AND w_wall IS NOT NULL
  UNION ALL
  SELECT key_id, 1 AS of_wall, h.bin AS bin, w_wall * h.n AS n
  FROM timed, {{.Unnest "wall_hist" "h"}}
  WHERE measured > 1 AND w_wall IS NOT NULL
  UNION ALL
  SELECT key_id, 0 AS of_wall, cpu_bin AS bin, w AS n
  FROM timed
  WHERE cpu_measured = 1 AND w IS NOT NULL
  UNION ALL
  SELECT key_id, 0 AS of_wall, h.bin AS bin, w * h.n AS n
  FROM timed, {{.Unnest "cpu_hist" "h"}}
  WHERE cpu_measured > 1 AND w IS NOT NULL
  UNION ALL
  -- The wall time of the calls whose CPU was timed. A sum does not say which they are of
  -- its calls: they count as like the others.
  SELECT key_id, 2 AS of_wall, wall_bin AS bin, w AS n
  FROM timed
  WHERE measured = 1 AND cpu_measured = 1 AND w IS NOT NULL
  UNION ALL
  SELECT key_id, 2 AS of_wall, h.bin AS bin, w * h.n * cpu_measured / NULLIF(measured, 0) AS n
  FROM timed, {{.Unnest "wall_hist" "h"}}
  WHERE measured > 1 AND cpu_measured > 0 AND w IS NOT NULL
),
bins AS (
  SELECT key_id, of_wall, CAST(bin AS {{.Long}}) AS bin, SUM(n) AS n
  FROM binned
  GROUP BY key_id, of_wall, CAST(bin AS {{.Long}})
)
SELECT {{.Service "k."}}, k.class, k.method, CASE b.of_wall WHEN 0 THEN 'cpu' WHEN 1 THEN 'wall' ELSE 'both' END AS metric, b.bin, SUM(b.n) AS n
FROM bins AS b
JOIN keys AS k ON b.key_id = k.key_id
GROUP BY {{.Service "k."}}, k.class, k.method, b.of_wall, b.bin
ORDER BY {{.Service ""}}, class, method, metric, bin
{{end}}

{{define "tails"}}
-- How skew the CPU times of single calls are: sums of powers, in ms, by method and half
-- octave, apart for calls above the threshold of their tail, all of which were timed. Rows
-- weigh what they were kept with: of a method only the shape is asked for.
WITH timed AS (
  SELECT
    {{.Service ""}}, class, method,
    CASE WHEN stratum = 'tail' THEN 1 ELSE 0 END AS tail,
    measured, COALESCE(cpu_measured, 0) AS cpu_measured,
    1 / NULLIF(p * cpu_p, 0) AS weight, cpu_ns / 1e6 AS x, cpu_hist AS bins
  FROM {{.Calls}}
  WHERE kind IN ('call', 'aggregate') AND measured > 0
    AND start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns
    {{.Only ""}}
),
valued AS (
  SELECT
    {{.Service ""}}, class, method, tail, measured, cpu_measured,
    CASE WHEN cpu_measured = 1 THEN weight END AS n, CASE WHEN cpu_measured = 1 THEN 1 ELSE 0 END AS records, x
  FROM timed
  UNION ALL
  SELECT
    {{.Service ""}}, class, method, tail, 0 AS measured, 0 AS cpu_measured,
    weight * h.n AS n, h.n AS records, EXP((h.bin + 0.5) * LN(1.01 / 0.99)) / 1e6 AS x
  FROM timed, {{.Unnest "bins" "h"}}
  WHERE cpu_measured > 1
),
binned AS (
  SELECT *, CASE WHEN n > 0 AND x > 0 THEN CAST(FLOOR(2 * LN(x) / LN(2)) AS {{.Long}}) END AS octave
  FROM valued
)
SELECT
  {{.Service ""}}, class, method, tail, octave,
  {{.Total `measured`}} AS measured, {{.Total `cpu_measured`}} AS cpu_measured,
  COALESCE(SUM(n), 0) AS n, COALESCE(SUM(n * x), 0) AS x, COALESCE(SUM(n * x * x), 0) AS xx, COALESCE(SUM(n * x * x * x), 0) AS xxx,
  COALESCE(SUM(CASE WHEN octave IS NOT NULL THEN records END), 0) AS records, COALESCE(SUM(CASE WHEN octave IS NOT NULL THEN n * LN(x) END), 0) AS logs
FROM binned
GROUP BY {{.Service ""}}, class, method, tail, octave
ORDER BY {{.Service ""}}, class, method, tail, octave
{{end}}
