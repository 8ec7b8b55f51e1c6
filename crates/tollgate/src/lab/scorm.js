// Reports the points of an exercise to the course system: SCORM 1.2 Run-Time Environment 3.3, SCORM 2004 4th edition Run-Time
// Environment 3.3. The page dispatches 'tollgate-verdict' with { score, of, passed } after each check.
(() => {
  const find = (name) => {
    let place = window;
    for (let level = 0; level < 10 && place; level += 1) {
      try {
        if (place[name]) return place[name];
      } catch {
        return undefined; // another origin
      }
      if (place.parent === place) return place.opener ? place.opener[name] : undefined;
      place = place.parent;
    }
    return undefined;
  };
  const next = find('API_1484_11');
  const old = find('API');
  if (next) next.Initialize('');
  else if (old) old.LMSInitialize('');
  else return;
  window.addEventListener('tollgate-verdict', (event) => {
    const { score, of, passed } = event.detail;
    if (!(of > 0)) return;
    if (next) {
      next.SetValue('cmi.score.min', '0');
      next.SetValue('cmi.score.max', String(of));
      next.SetValue('cmi.score.raw', String(score));
      next.SetValue('cmi.score.scaled', String(score / of));
      next.SetValue('cmi.success_status', passed ? 'passed' : 'failed');
      next.SetValue('cmi.completion_status', passed ? 'completed' : 'incomplete');
      next.Commit('');
    } else {
      // SCORM 1.2 has scores from 0 to 100.
      old.LMSSetValue('cmi.core.score.min', '0');
      old.LMSSetValue('cmi.core.score.max', '100');
      old.LMSSetValue('cmi.core.score.raw', String(Math.round((100 * score) / of)));
      old.LMSSetValue('cmi.core.lesson_status', passed ? 'passed' : 'incomplete');
      old.LMSCommit('');
    }
  });
  window.addEventListener('pagehide', () => {
    if (next) next.Terminate('');
    else old.LMSFinish('');
  });
})();
