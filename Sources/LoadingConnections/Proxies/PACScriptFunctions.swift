/// The predefined functions of PAC scripts, in JavaScript, as the documentation of the format defines them. `ask` is
/// not part of the language; it is deleted before a script runs.
enum PACScriptFunctions {
    static let source = #"""
        (function (global) {
            "use strict";
            var ask = global.ask;
            delete global.ask;

            var days = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
            var months = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

            // The number of an IPv4 address in four parts, or null.
            function number(address) {
                var parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(String(address));
                if (!parts) return null;
                var value = 0;
                for (var index = 1; index <= 4; index++) {
                    if (parts[index] > 255) return null;
                    value = value * 256 + Number(parts[index]);
                }
                return value;
            }

            function resolve(host) {
                host = String(host);
                return number(host) === null ? ask("R", host) : host;
            }

            // Whether a value is between two, which belong to it; past the end of a round it goes on from the
            // beginning.
            function isBetween(first, value, last) {
                return first <= last ? first <= value && value <= last : value >= first || value <= last;
            }

            // The arguments of a range, and the time that it is about.
            function range(values) {
                var list = Array.prototype.slice.call(values);
                var isUniversal = list.length > 0 && list[list.length - 1] === "GMT";
                if (isUniversal) list.pop();
                var now = new Date();
                var part = function (name) { return now[(isUniversal ? "getUTC" : "get") + name](); };
                return { list: list, part: part };
            }

            function define(name, method) { global[name] = method; }

            define("isPlainHostName", function (host) { return String(host).indexOf(".") < 0; });

            define("dnsDomainIs", function (host, domain) {
                host = String(host);
                domain = String(domain);
                var start = host.length - domain.length;
                return start >= 0 && host.substring(start) === domain;
            });

            define("localHostOrDomainIs", function (host, name) {
                host = String(host);
                name = String(name);
                return host === name || host.indexOf(".") < 0 && name.indexOf(host + ".") === 0;
            });

            define("dnsDomainLevels", function (host) { return String(host).split(".").length - 1; });

            define("dnsResolve", resolve);

            define("isResolvable", function (host) { return resolve(host) !== null; });

            define("myIpAddress", function () { return ask("O", "") || "127.0.0.1"; });

            define("convert_addr", function (address) { return number(address) | 0; });

            define("isInNet", function (host, pattern, mask) {
                var address = number(resolve(host)), net = number(pattern), bits = number(mask);
                if (address === null || net === null || bits === null) return false;
                return (address & bits) === (net & bits);
            });

            define("shExpMatch", function (text, pattern) {
                text = String(text);
                pattern = String(pattern);
                // Where the last star stood, and how much of the text it stands for so far.
                var star = -1, held = 0, at = 0, next = 0;
                while (at < text.length) {
                    if (pattern.charAt(next) === "*") {
                        star = next++;
                        held = at;
                    } else if (next < pattern.length && (pattern.charAt(next) === "?" || pattern.charAt(next) === text.charAt(at))) {
                        next++;
                        at++;
                    } else if (star >= 0) {
                        next = star + 1;
                        at = ++held;
                    } else {
                        return false;
                    }
                }
                while (pattern.charAt(next) === "*") next++;
                return next === pattern.length;
            });

            define("weekdayRange", function () {
                var asked = range(arguments);
                var first = days.indexOf(asked.list[0]);
                var last = asked.list.length > 1 ? days.indexOf(asked.list[1]) : first;
                return first >= 0 && last >= 0 && isBetween(first, asked.part("Day"), last);
            });

            define("dateRange", function () {
                var asked = range(arguments), list = asked.list;
                // Each is a day, a month or a year, and the second half has the same parts as the first.
                var half = list.length === 1 ? 1 : list.length / 2;
                var now = 0, first = 0, last = 0, hasYear = false;
                if (half !== 1 && half !== 2 && half !== 3) return false;
                var kinds = { year: false, month: false, day: false };
                function add(values) {
                    var found = { year: 0, month: 0, day: 0 }, count = 0;
                    for (var index = 0; index < values.length; index++) {
                        var month = months.indexOf(values[index]), value = Number(values[index]);
                        var kind = month >= 0 ? "month" : value >= 1 && value <= 31 ? "day" : value > 31 ? "year" : null;
                        if (kind === null) return null;
                        found[kind] = month >= 0 ? month : value;
                        kinds[kind] = true;
                    }
                    for (var name in kinds) if (kinds[name]) count++;
                    if (count !== values.length) return null;
                    return (found.year * 12 + found.month) * 32 + found.day;
                }
                first = add(list.slice(0, half));
                last = list.length === 1 ? first : add(list.slice(half));
                if (first === null || last === null) return false;
                now = ((kinds.year ? asked.part("FullYear") : 0) * 12 + (kinds.month ? asked.part("Month") : 0)) * 32
                    + (kinds.day ? asked.part("Date") : 0);
                // Years have no round.
                if (kinds.year && first > last) return false;
                return isBetween(first, now, last);
            });

            define("timeRange", function () {
                var asked = range(arguments), list = asked.list.map(Number);
                var half = list.length === 1 ? 1 : list.length / 2;
                if (half !== 1 && half !== 2 && half !== 3) return false;
                var parts = ["Hours", "Minutes", "Seconds"], limits = [24, 60, 60];
                function add(values) {
                    var sum = 0;
                    for (var index = 0; index < half; index++) {
                        if (!(values[index] >= 0 && values[index] < limits[index])) return null;
                        sum = sum * 60 + values[index];
                    }
                    return sum;
                }
                var now = 0;
                for (var index = 0; index < half; index++) now = now * 60 + asked.part(parts[index]);
                var first = add(list.slice(0, half)), last = list.length === 1 ? first : add(list.slice(half));
                return first !== null && last !== null && isBetween(first, now, last);
            });

            define("alert", function () {});
        })(this);
        """#
}
