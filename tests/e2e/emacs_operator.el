;; Opens $MERROW_FILE with the documented set-up ($MERROW_SNIPPET), and chooses the code action $MERROW_ACTION of the kind $MERROW_KIND
;; on the line that has $MERROW_LINE. Eglot before 1.10 shows what is of just the kind that is asked for.
;; -Q leaves out the distribution's start files, so the folder of its packages is named here.
(require 'package)
(add-to-list 'package-directory-list "/usr/share/emacs/site-lisp/elpa")
(package-initialize)
(unless (locate-library "eglot") (princ "eglot is not installed; apt-get install elpa-eglot installs it\n") (kill-emacs 3))
(setq eglot-sync-connect 30 make-backup-files nil create-lockfiles nil eglot-send-changes-idle-time 0.05
      eglot-confirm-server-initiated-edits nil eglot-confirm-server-edits nil)
(load (getenv "MERROW_SNIPPET") nil t)
(find-file (getenv "MERROW_FILE"))
;; eglot-ensure waits for post-command-hook, which --batch never runs.
(unless (eglot-managed-p) (call-interactively #'eglot))
(let ((end (+ (float-time) 30)))
  (while (and (not (eglot-managed-p)) (< (float-time) end)) (accept-process-output nil 0.05)))
(goto-char (point-min))
(search-forward (getenv "MERROW_LINE"))
(goto-char (match-beginning 0))
(let* ((actions (append (eglot-code-actions (point) (point) (getenv "MERROW_KIND")) nil))
       (action (seq-find (lambda (one) (string-match-p (regexp-quote (getenv "MERROW_ACTION")) (plist-get one :title))) actions)))
  (unless action (princ (format "FAIL not offered: %s\n" (mapcar (lambda (one) (plist-get one :title)) actions))) (kill-emacs 1))
  (eglot--apply-workspace-edit
   (plist-get (if (plist-get action :edit) action (jsonrpc-request (eglot-current-server) :codeAction/resolve action)) :edit)))
(save-buffer)
(eglot-shutdown (eglot-current-server))
(princ "DONE\n")
