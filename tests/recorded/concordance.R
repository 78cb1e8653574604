library(survival)
set.seed(1)
cat('{\n"source": "survival::concordance of R", "version": "', as.character(packageVersion("survival")), '",\n"cases": [\n', sep="")
num <- function(v) paste0("[", paste(sprintf("%.17g", as.numeric(v)), collapse=", "), "]")
first <- TRUE
emit <- function(name, d, fit, args) {
  if (!first) cat(",\n"); first <<- FALSE
  counts <- if (is.matrix(fit$count)) colSums(fit$count) else fit$count
  cat('{"name": "', name, '", "time": ', num(d$time), ', "event": ', num(d$event), ', "score": ', num(d$score),
   if (!is.null(args$weights)) paste0(', "weight": ', num(d$weight)) else "",
   if (!is.null(args$strata)) paste0(', "stratum": ', num(d$stratum)) else "",
   if (!is.null(args$cluster)) paste0(', "cluster": ', num(d$cluster)) else "",
   if (!is.null(args$entry)) paste0(', "entry": ', num(d$entry)) else "",
   ', "time_weight": "', args$timewt, '", "survival": ', if (args$surv) "true" else "false",
   ', "concordance": ', sprintf("%.17g", fit$concordance), ', "variance": ', sprintf("%.17g", fit$var),
   ', "counts": ', num(counts), ', "dfbeta": ', num(fit$dfbeta), "}", sep="")
}
make <- function(n, ties) {
  score <- if (ties) sample(0:5, n, TRUE) / 2 else round(rnorm(n), 3)
  time <- if (ties) sample(1:8, n, TRUE) else round(rexp(n) * exp(0.5 * score), 4) + 0.0001
  data.frame(time=time, event=rbinom(n, 1, 0.6), score=score, weight=sample(c(0.5, 1, 2, 3.25), n, TRUE),
             stratum=sample(0:2, n, TRUE), cluster=sample(0:9, n, TRUE))
}
for (ties in c(TRUE, FALSE)) for (tw in c("n", "S", "S/G", "n/G2", "I"))
 for (kind in c("plain", "weights", "strata", "all")) {
  d <- make(24, ties)
  a <- list(timewt=tw, surv=TRUE)
  if (kind %in% c("weights", "all")) a$weights <- TRUE
  if (kind %in% c("strata", "all")) a$strata <- TRUE
  if (kind == "all") a$cluster <- TRUE
  f <- if (is.null(a$strata)) Surv(time, event) ~ score else Surv(time, event) ~ score + strata(stratum)
  call <- list(f, data=d, timewt=tw, influence=1)
  if (!is.null(a$weights)) call$weights <- d$weight
  if (!is.null(a$cluster)) call$cluster <- d$cluster
  emit(paste(if (ties) "ties" else "continuous", tw, kind), d, do.call(concordance, call), a)
}
for (ties in c(TRUE, FALSE)) { d <- make(24, ties); d$event <- 1
 emit(paste("labels", ties), d, concordance(time ~ score, d, influence=1), list(timewt="n", surv=FALSE)) }
d <- make(24, TRUE); d$stratum <- d$time * 0 + c(rep(0, 20), rep(1, 4)); d$event[21:24] <- c(0, 1, 0, 0)
emit("a stratum with one event", d, concordance(Surv(time, event) ~ score + strata(stratum), d, timewt="S", influence=1), list(timewt="S", surv=TRUE, strata=TRUE))
for (ties in c(TRUE, FALSE)) for (kind in c("plain", "all")) {
 d <- make(24, ties); d$entry <- if (ties) d$time - sample(1:4, 24, TRUE) else d$time * runif(24)
 call <- list(if (kind == "all") Surv(entry, time, event) ~ score + strata(stratum) else Surv(entry, time, event) ~ score,
              data=d, influence=1)
 a <- list(timewt="n", surv=TRUE, entry=TRUE)
 if (kind == "all") { call$weights <- d$weight; call$cluster <- d$cluster; a$weights <- TRUE; a$strata <- TRUE; a$cluster <- TRUE }
 emit(paste(if (ties) "ties" else "continuous", "entry", kind), d, do.call(concordance, call), a)
}
cat("\n]\n}\n")
