;; Opens $MERROW_FILE with the documented set-up ($MERROW_SNIPPET), runs it to its end, says the progress and the hints that were
;; shown, runs it again, and stops it in the second turn of the second item.
(require 'package)
(add-to-list 'package-directory-list "/usr/share/emacs/site-lisp/elpa")
(package-initialize)
(unless (locate-library "eglot") (princ "eglot is not installed; apt-get install elpa-eglot installs it\n") (kill-emacs 3))
(require 'eglot)
(setq eglot-sync-connect 30 make-backup-files nil create-lockfiles nil)
(load (getenv "MERROW_SNIPPET") nil t)

(defvar merrow-said nil)
(cl-defmethod eglot-handle-notification :before (_server (_method (eql $/progress)) &key value &allow-other-keys)
  (let ((message (plist-get value :message))) (when message (push message merrow-said))))
(defun merrow-wait (predicate what)
  (let ((end (+ (float-time) 30)) value)
    (while (and (not (setq value (funcall predicate))) (< (float-time) end))
      (accept-process-output nil 0.05))
    (or value (progn (princ (format "FAIL %s\n" what)) (kill-emacs 1)))))
(defun merrow-seen (pattern) (seq-find (lambda (message) (string-match-p pattern message)) merrow-said))

(find-file (getenv "MERROW_FILE"))
(unless (eglot-managed-p) (call-interactively #'eglot))
(merrow-wait #'eglot-managed-p "not managed")
(defvar merrow-server (eglot-current-server))
(defvar merrow-uri (plist-get (eglot--TextDocumentIdentifier) :uri))

(defun merrow-start (subject)
  "Start a run; a list whose head becomes its status."
  (let ((answer (list nil)))
    (jsonrpc-async-request
     merrow-server :workspace/executeCommand
     `(:command "merrow.run" :workDoneToken ,subject
       :arguments [(:uri ,merrow-uri :inputs (:PROBLEM ,subject) :fresh t)])
     :success-fn (lambda (result) (setcar answer (plist-get result :status)))
     :error-fn (lambda (problem) (setcar answer (format "%s" problem)))
     :timeout 60)
    answer))
(defun merrow-ended (answer) (merrow-wait (lambda () (car answer)) "the run did not end"))

(princ (format "FIRST %s\n" (merrow-ended (merrow-start "The sea"))))
(dolist (message (reverse merrow-said)) (princ (format "PROGRESS %s\n" message)))
(let* ((range (list :start '(:line 0 :character 0) :end (list :line (line-number-at-pos (point-max)) :character 0)))
       (hints (jsonrpc-request merrow-server :textDocument/inlayHint
                               (list :textDocument (list :uri merrow-uri) :range range))))
  (seq-do (lambda (hint)
            (let ((label (plist-get hint :label)))
              (princ (format "HINT %d %s\n" (1+ (plist-get (plist-get hint :position) :line))
                             (if (stringp label) label (mapconcat (lambda (part) (plist-get part :value)) label ""))))))
          hints))

(setq merrow-said nil)
(let ((stopped (merrow-start "The hills")))
  (merrow-wait (lambda () (merrow-seen "LINES\\[2\\]/ROUNDS\\(\\[2\\]/POLISH\\|, turn 2 of 3\\)")) "the second item has no second turn")
  ;; Not `jsonrpc-request': it leaves its process filter by a throw, and what came with the answer waits for more to come.
  (jsonrpc-async-request merrow-server :workspace/executeCommand `(:command "merrow.cancel" :arguments [(:uri ,merrow-uri)])
                         :success-fn #'ignore)
  (princ (format "SECOND %s\n" (merrow-ended stopped))))
(eglot-shutdown merrow-server)
(princ "DONE\n")
