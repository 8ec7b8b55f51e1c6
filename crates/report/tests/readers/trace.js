// Builds TracerBench's model of a trace and prints what it saw as JSON: trace.js MODULES FILE
const fs = require('fs');
const path = require('path');
const { buildModel } = require(path.join(process.argv[2], '@tracerbench/trace-model'));

const document = JSON.parse(fs.readFileSync(process.argv[3], 'utf8'));
const model = buildModel(document.traceEvents);
const seen = [];
for (const process of model.processes) {
  for (const thread of process.threads) {
    for (const event of thread.events) {
      seen.push({
        process: process.name,
        track: thread.name,
        kind: event.ph,
        name: event.name,
        start: event.start,
        duration: event.duration,
        parent: event.parent === undefined ? null : event.parent.name,
      });
    }
  }
}
// Counters belong to a process, not to one of its tracks.
for (const event of model.events.filter((event) => event.ph === 'C')) {
  seen.push({ kind: event.ph, name: event.name, start: event.start });
}
console.log(JSON.stringify(seen));
