import Foundation
import FoundationNetworking

/// Redirects `/` with the status, and answers everything else.
private func server(_ status: Int, to location: String = "/new", _ fields: [(String, String)] = []) throws -> Server {
    try Server { request in
        request.path == "/" ? Response(status, [("Location", location)] + fields) : Response(200, [], "end")
    }
}

/// The method and body of the last request after a redirect.
private func redirected(_ status: Int, _ method: String, body: String?) async throws -> Request {
    let server = try server(status)
    let fields = body == nil ? [:] : ["Content-Type": "text/plain"]
    let outcome = await makeSession().load(request(server.url(), method, fields, body: body))
    try equal(outcome.error, nil, "error")
    try equal(server.requests.count, 2, "requests")
    return server.requests[1]
}

let redirectCases: [Case] =
    [301, 302, 303, 307, 308].map { status in
        Case("R-1", name: "\(status) is followed") {
            let server = try server(status)
            let outcome = await makeSession().load(server.url())
            try equal(outcome.summary, "200 end", "load")
            try equal(server.lines, ["GET /", "GET /new"], "requests")
        }
    }
    + [
        Case("R-1", name: "300 and 304 with Location are not followed") {
            for status in [300, 304] {
                let server = try server(status)
                try equal(await makeSession().load(server.url()).status, status, "status")
                try equal(server.requests.count, 1, "requests")
            }
        },
        Case("R-2", name: "301 and 302 change POST to GET") {
            for status in [301, 302] {
                let second = try await redirected(status, "POST", body: "abc")
                try equal("\(status) \(second.method) \(text(second.body))", "\(status) GET ", "request")
            }
        },
        Case("R-2", name: "301 and 302 keep PUT and DELETE") {
            for (status, method) in [(301, "PUT"), (302, "DELETE")] {
                try equal(try await redirected(status, method, body: nil).method, method, "method after \(status)")
            }
        },
        Case("R-2", name: "301 and 302 keep HEAD") {
            for status in [301, 302] {
                try equal(try await redirected(status, "HEAD", body: nil).method, "HEAD", "method after \(status)")
            }
        },
        Case("R-3", name: "303 changes POST and PUT to GET") {
            for method in ["POST", "PUT"] {
                let second = try await redirected(303, method, body: "abc")
                try equal("\(second.method) \(text(second.body))", "GET ", "request")
            }
        },
        Case("R-4", "R-6", name: "307 and 308 keep the method and the body") {
            for status in [307, 308] {
                let second = try await redirected(status, "POST", body: "abc")
                try equal("\(status) \(second.method) \(text(second.body))", "\(status) POST abc", "request")
            }
        },
        Case("R-5", name: "the fields of a body go with it") {
            let second = try await redirected(302, "POST", body: "abc")
            try equal(second.value("Content-Type"), nil, "Content-Type")
            try equal(second.value("Content-Length") ?? "0", "0", "Content-Length")
            try equal(second.value("Transfer-Encoding"), nil, "Transfer-Encoding")
        },
        Case("R-6", "T-51", name: "307 asks for a new stream of a streamed body") {
            let server = try server(307)
            let recorder = Recorder { $0.stream = { InputStream(data: Data("streamed".utf8)) } }
            makeSession(recorder).uploadTask(withStreamedRequest: request(server.url(), "POST")).resume()
            await recorder.completion()
            try equal(recorder.seen.codes, [nil], "errors")
            try equal(recorder.events.filter { $0 == "stream" }.count, 2, "streams")
            try equal(server.requests.map { text($0.body) }, ["streamed", "streamed"], "bodies")
        },
        Case("R-6", name: "307 sends a file again") {
            let server = try server(307)
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("body")
            try Data("file".utf8).write(to: file)
            let recorder = Recorder()
            makeSession(recorder).uploadTask(with: request(server.url(), "PUT"), fromFile: file).resume()
            await recorder.completion()
            try equal(server.requests.map { text($0.body) }, ["file", "file"], "bodies")
        },
        Case("R-7", "R-8", "ERR-5", name: "an endless redirect ends with -1007") {
            let server = try Server { _ in .redirect(302, to: "/") }
            let outcome = await makeSession().load(server.url())
            try equal(outcome.code, NSURLErrorHTTPTooManyRedirects, "error")
            try check(outcome.data == nil, "data: \(outcome.summary)")
        },
        Case("R-7", name: "the limit holds if the delegate approves each redirect") {
            let server = try Server { _ in .redirect(302, to: "/") }
            let recorder = Recorder { $0.redirect = { _, request in request } }
            await run(server.url(), recorder)
            try equal(code(recorder.seen.errors[0]), NSURLErrorHTTPTooManyRedirects, "error")
        },
        Case("R-7", name: "ten redirects are followed") {
            let server = try Server { request in
                let number = Int(request.path.dropFirst()) ?? 0
                return number < 10 ? .redirect(302, to: "/\(number + 1)") : Response(200, [], "end")
            }
            try equal(await makeSession().load(server.url("/0")).summary, "200 end", "load")
        },
        Case("R-9", name: "Authorization is removed from the redirected request, other fields are kept") {
            let server = try server(302)
            _ = await makeSession().load(request(server.url(), "GET", ["Authorization": "Bearer a", "X-Name": "b"]))
            try equal(server.requests.map { $0.value("Authorization") }, ["Bearer a", nil], "Authorization")
            try equal(server.requests.map { $0.value("X-Name") }, ["b", "b"], "X-Name")
        },
        Case("R-9", name: "Authorization is not sent to another host") {
            let other = try Server(Response(200))
            let server = try server(302, to: other.localhost("/other").absoluteString)
            _ = await makeSession().load(request(server.url(), "GET", ["Authorization": "Bearer a"]))
            try equal(other.requests.map { $0.value("Authorization") }, [nil], "Authorization")
        },
        Case("R-9", name: "the delegate may put Authorization back") {
            let server = try server(302)
            let recorder = Recorder {
                $0.redirect = { _, request in
                    var request = request
                    request.setValue("Bearer a", forHTTPHeaderField: "Authorization")
                    return request
                }
            }
            await run(server.url(), recorder)
            try equal(server.requests.map { $0.value("Authorization") }, [nil, "Bearer a"], "Authorization")
        },
        Case("R-11", "COOK-23", name: "cookies of the redirect are sent to its target") {
            let server = try server(302, to: "/new", [("Set-Cookie", "a=b; Path=/")])
            _ = await makeSession().load(server.url())
            try equal(server.requests.map { $0.value("Cookie") }, [nil, "a=b"], "Cookie")
        },
        Case("R-13", name: "a relative Location is resolved, and its query kept as it is") {
            let server = try Server { request in
                request.path == "/a/b" ? .redirect(302, to: "../c/./d?x=%2F&y=/../z") : Response(200)
            }
            _ = await makeSession().load(server.url("/a/b"))
            try equal(server.lines, ["GET /a/b", "GET /c/d?x=%2F&y=/../z"], "requests")
        },
        Case("R-13", name: "a Location without a scheme names another host") {
            let other = try Server(Response(200, [], "other"))
            let server = try server(302, to: "//localhost:\(other.port)/x")
            try equal(await makeSession().load(server.url()).summary, "200 other", "load")
        },
        Case("R-13", name: "a Location that is not ASCII, or has spaces, is encoded") {
            for (location, target) in [("/ü", "/%C3%BC"), ("/a b?c d", "/a%20b?c%20d"), ("/%C3%BC?%20", "/%C3%BC?%20")]
            {
                let server = try server(302, to: location)
                try equal(await makeSession().load(server.url()).summary, "200 end", "load of \(location)")
                try equal(server.lines.last, "GET \(target)", "request")
            }
        },
        Case("R-14", name: "a Location without a fragment inherits it") {
            let server = try server(302)
            let task = await run(server.url("/#part"), Recorder())
            try equal(task.currentRequest?.url?.fragment, "part", "fragment")
        },
        Case("R-18", "S-58", name: "the request that the delegate returns is sent") {
            let server = try server(302)
            let url = server.url("/own")
            let recorder = Recorder {
                $0.redirect = { _, _ in request(url, "PUT", ["X-Name": "a"], body: "abc") }
            }
            await run(server.url(), recorder)
            let second = server.requests.last
            try equal(server.lines, ["GET /", "PUT /own"], "requests")
            try equal(second?.value("X-Name"), "a", "X-Name")
            try equal(second.map { text($0.body) }, "abc", "body")
        },
        Case("R-19", name: "the proposed request inherits timeout and policy") {
            let server = try server(302)
            let recorder = Recorder()
            var request = URLRequest(url: server.url())
            request.timeoutInterval = 12
            request.cachePolicy = .reloadIgnoringLocalCacheData
            await run(request, recorder)
            try equal(recorder.seen.redirects.map(\.timeoutInterval), [12], "timeoutInterval")
            try equal(recorder.seen.redirects.map(\.cachePolicy), [.reloadIgnoringLocalCacheData], "cachePolicy")
        },
        Case("S-58", name: "the delegate sees the redirect's response and the proposed request") {
            let server = try server(301)
            let status = Locked<Int?>(nil)
            let recorder = Recorder {
                $0.redirect = { response, request in
                    status.value = response.statusCode
                    return request
                }
            }
            await run(server.url(), recorder)
            try equal(status.value, 301, "status")
            try equal(recorder.seen.redirects.map(\.url), [server.url("/new")], "URL")
        },
        Case("T-32", name: "a redirect's body is not a part of the result") {
            let server = try Server { request in
                request.path == "/" ? Response(302, [("Location", "/new")], "moved") : Response(200, [], "end")
            }
            try equal(await makeSession().load(server.url()).summary, "200 end", "load")
        },
    ]
