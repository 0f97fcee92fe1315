import Foundation
import URLLoading

/// A row of the redirect table: request, destination, the delegate's answer, and the result according to the rules.
struct RedirectCase: Sendable, CustomStringConvertible {
    enum Body: String, CaseIterable, Sendable { case none, data, stream }

    /// The destination, relative to the redirecting server.
    enum Destination: String, CaseIterable, Sendable {
        case home, otherHost, upgrade, downgrade, secureHome, secureOtherHost

        var beginsSecure: Bool { [.downgrade, .secureHome, .secureOtherHost].contains(self) }
        var endsSecure: Bool { [.upgrade, .secureHome, .secureOtherHost].contains(self) }
        var isSameOrigin: Bool { self == .home || self == .secureHome }
        /// Each server has two names, which are two hosts for a client.
        var endsElsewhere: Bool { self == .otherHost || self == .secureOtherHost }
    }

    enum Answer: String, CaseIterable, Sendable { case follow, change, refuse, never }

    static let statuses = [300, 301, 302, 303, 304, 305, 306, 307, 308]
    static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

    let number: Int
    let status: Int
    let method: String
    let body: Body
    let destination: Destination
    let answer: Answer

    /// Every row. GET and HEAD have no body.
    static let all: [RedirectCase] = {
        var rows: [RedirectCase] = []
        for status in statuses {
            for method in methods {
                for body in Body.allCases where body == .none || !["GET", "HEAD"].contains(method) {
                    for destination in Destination.allCases {
                        for answer in Answer.allCases {
                            rows.append(
                                RedirectCase(
                                    number: rows.count, status: status, method: method, body: body,
                                    destination: destination, answer: answer))
                        }
                    }
                }
            }
        }
        return rows
    }()

    var description: String { "\(number): \(status) \(method) \(body) \(destination) \(answer)" }

    // MARK: What is asked

    static let ownBody = "body"

    func request(to url: URL) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        switch body {
        case .none: break
        case .data: request.httpBody = Data(Self.ownBody.utf8)
        case .stream: request.httpBodyStream = InputStream(data: Data(Self.ownBody.utf8))
        }
        for (name, value) in [
            ("Authorization", "Basic x"), ("Cookie", "a=b"), ("Referer", "http://app.example/"),
            ("Origin", "http://app.example"), ("X-Own", "1"), ("Content-Type", "text/x"),
        ] { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }

    /// The request that the delegate returns instead.
    func changed(_ target: URL) -> URLRequest {
        var request = URLRequest(url: target)
        request.httpMethod = "PUT"
        request.httpBody = Data("changed".utf8)
        request.setValue("Basic y", forHTTPHeaderField: "Authorization")
        request.setValue("2", forHTTPHeaderField: "X-Own")
        request.setValue("text/y", forHTTPHeaderField: "Content-Type")
        return request
    }

    // MARK: What has to come of it

    //
    var isFollowed: Bool { [301, 302, 303, 305, 306, 307, 308].contains(status) }

    //
    var nextMethod: String {
        switch (status, method) {
        case (301, "POST"), (302, "POST"), (303, _): "GET"
        default: method
        }
    }

    /// The second request, as received by the server.
    var nextRequest: RedirectedRequest {
        if answer == .change {
            //
            return RedirectedRequest(
                method: "PUT", length: "7", authorization: "Basic y", own: "2", type: "text/y")
        }
        //
        let keepsBody = nextMethod == method
        let takesBody = ["POST", "PUT", "PATCH"].contains(nextMethod)
        let isDowngrade = destination.beginsSecure && !destination.endsSecure
        return RedirectedRequest(
            method: nextMethod,
            length: keepsBody && body == .data ? "4" : body == .none && takesBody ? "0" : "",
            coding: keepsBody && body == .stream ? "chunked" : "",
            cookie: destination.isSameOrigin ? "a=b" : "",
            referer: isDowngrade ? "" : "http://app.example/",
            origin: destination.isSameOrigin ? "http://app.example" : "",
            own: "1", type: keepsBody ? "text/x" : "")
    }

    /// Whether the destination server gets a request.
    var arrives: Bool { isFollowed && (answer == .follow || answer == .change) }

    /// All callbacks, with the error of a cancelled task if the delegate does not answer.
    func expected(target: String, page: String) -> [RedirectEvent] {
        // The body of the redirect's own response.
        let page = method == "HEAD" || status == 304 ? [] : [RedirectEvent.text(page)]
        guard isFollowed else { return [.response(status)] + page + [.completed(nil)] }
        let asked = RedirectEvent.asked(status, nextMethod, target)
        switch answer {
        case .never: return [asked, .completed(URLError.Code.cancelled.rawValue)]
        case .refuse: return [asked, .response(status)] + page + [.completed(nil)]
        case .follow, .change:
            let next = nextRequest
            return [asked, .response(200)] + (next.method == "HEAD" ? [] : [.text(next.text)]) + [.completed(nil)]
        }
    }
}

/// The callbacks of one row.
enum RedirectEvent: Sendable, Equatable {
    /// With the redirect's status, and the proposal's method and URL.
    case asked(Int, String, String)
    case response(Int)
    case text(String)
    case completed(Int?)
}

/// The redirected request, as reported by the server; missing fields are empty.
struct RedirectedRequest: Sendable, Equatable {
    var method: String
    var length = ""
    var coding = ""
    var authorization = ""
    var cookie = ""
    var referer = ""
    var origin = ""
    var own = ""
    var type = ""

    var text: String {
        [method, length, coding, authorization, cookie, referer, origin, own, type].joined(separator: "|")
    }
}
